#pragma once

// The element-wise nodes behind a contraction: inside the library's kernel where it takes them,
// else in a kernel of ours behind it.

#include <vector>

#include "core/kernels/cuda/program_builder.h"

namespace quotient::kernels::cuda {

// A node behind the product or convolution with the position of its first operand in AllOperands.
struct EpilogueNode {
  Epilogue node;
  int first_operand = 0;
  float factor = 1;  // of an Add: its operand is multiplied by this first
};
// Those of spec.epilogue; in front of them what the operator does with its product itself: a Gemm
// adds its third operand (its other factor, alpha, is no node); a ConvTranspose adds its bias.
std::vector<EpilogueNode> EpilogueNodes(const KernelSpec& spec);

// A DnnGraph under construction, with the buffers of its launch.
class DnnBuilder {
 public:
  explicit DnnBuilder(MathPolicy policy) { graph_.policy = policy; }

  // Positions in the graph's tensors.
  int AddBuffer(DnnTensor tensor, BufferRef buffer);
  // A value that stays inside, of `like`'s dims, as float32.
  int AddVirtual(const DnnTensor& like);
  // A number beside values of as many dims as `like` has.
  int AddNumber(float value, const DnnTensor& like);
  void Add(DnnNode node) { graph_.nodes.push_back(std::move(node)); }

  Launch Finish() &&;

 private:
  DnnGraph graph_;
  std::vector<BufferRef> buffers_;
};

// How the operands of an epilogue lie beside the value that it changes.
struct DnnFrame {
  DnnTensor full;        // the contraction's output: dims and strides
  int channel_axis = 1;  // in these dims
  // For SpreadOf: the value's type in the model, and its channel axis there.
  model::TensorType type;
  int model_channel_axis = 1;
};

// Operand `index` of AllOperands, which spreads over the value as epilogues may, as a tensor.
int AddSpread(const DnnFrame& frame, int index, ProgramBuilder& program, DnnBuilder& graph);

// Whether the library has all nodes from `first` on; factors it has not.
bool DnnTakes(const std::vector<EpilogueNode>& nodes, size_t first);
// Adds them behind `running`, a tensor of the frame's dims, the last one writing output 0 of the
// program. At least one.
void AddDnnEpilogue(const std::vector<EpilogueNode>& nodes, size_t first, const DnnFrame& frame,
                    int running, ProgramBuilder& program, DnnBuilder& graph);

// Adds a kernel of ours that computes all EpilogueNodes(spec) from `first` on from `running` (which
// lies as the output does) to output 0. False if there is no such kernel.
bool AddEpilogueChain(const KernelSpec& spec, size_t first, BufferRef running,
                      ProgramBuilder& program);

}  // namespace quotient::kernels::cuda
