#pragma once

// The element-wise nodes behind a contraction. They run inside the library's kernel if it supports
// them, otherwise in one of Quotient's kernels after it.

#include <vector>

#include "core/kernels/cuda/program/program_builder.h"

namespace quotient::kernels::cuda {

// A node behind the product or convolution, and the index of its first operand in AllOperands.
struct EpilogueNode {
  Epilogue node;
  int first_operand = 0;
  float factor = 1;  // An Add multiplies its operand by this first.
};
// The nodes of spec.epilogue, preceded by what the operator itself does with its product: a Gemm
// adds its third operand (its factor alpha is not a node), a ConvTranspose adds its bias.
std::vector<EpilogueNode> EpilogueNodes(const KernelSpec& spec);
// The same behind the bare contraction: the bias of a Conv is a node, too.
std::vector<EpilogueNode> NodesBehindBare(const KernelSpec& spec);
bool IsRelu(const EpilogueNode& node);

// A DnnGraph under construction, with the buffers of its launch.
class DnnBuilder {
 public:
  explicit DnnBuilder(MathPolicy policy) { graph_.policy = policy; }

  // These return indices into the graph's tensors.
  int AddBuffer(DnnTensor tensor, BufferRef buffer);
  // A float32 value inside the graph, with the dims of `like`.
  int AddVirtual(const DnnTensor& like);
  // A number with as many dims as `like`.
  int AddNumber(float value, const DnnTensor& like);
  void Add(DnnNode node) { graph_.nodes.push_back(std::move(node)); }

  Launch Finish() &&;

 private:
  DnnGraph graph_;
  std::vector<BufferRef> buffers_;
};

// How the operands of an epilogue are laid out relative to the value that it changes.
struct DnnFrame {
  DnnTensor full;        // The contraction's output: dims and strides.
  int channel_axis = 1;  // In these dims.
  // For SpreadOf: the value's type in the model, and its channel axis there.
  model::TensorType type;
  int model_channel_axis = 1;
};

// Adds operand `index` of AllOperands, which must be broadcast as epilogues allow, as a tensor.
int AddSpread(const DnnFrame& frame, int index, ProgramBuilder& program, DnnBuilder& graph);

// Whether the library supports all nodes from `first` on. It does not support factors.
bool DnnTakes(const std::vector<EpilogueNode>& nodes, size_t first);
// Adds these nodes behind `running`, a tensor with the frame's dims. The last one writes output 0
// of the program. There must be at least one.
void AddDnnEpilogue(const std::vector<EpilogueNode>& nodes, size_t first, const DnnFrame& frame,
                    int running, ProgramBuilder& program, DnnBuilder& graph);

// Adds one of Quotient's kernels that computes all `nodes` of the spec from `first` on, from
// `running` (which is laid out like the output) to output 0. Returns false if there is no such
// kernel.
bool AddEpilogueChain(const KernelSpec& spec, const std::vector<EpilogueNode>& nodes, size_t first,
                      BufferRef running, ProgramBuilder& program);

}  // namespace quotient::kernels::cuda
