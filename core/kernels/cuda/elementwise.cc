// Element-wise chains: cuDNN, which compiles them at run time.

#include <algorithm>
#include <optional>
#include <utility>

#include "core/kernels/cuda/epilogue.h"
#include "core/kernels/cuda/lower.h"
#include "core/kernels/fusion.h"
#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {
namespace {

// The main operator as a node behind one of its operands, `running`, which is laid out like the
// output. There is none if no operand is.
struct MainNode {
  EpilogueNode node;
  int running = 0;
};
std::optional<MainNode> MainNodeOf(const KernelSpec& spec) {
  MainNode main;
  main.node.node = {.op = spec.op, .attributes = spec.attributes, .operands = spec.inputs};
  const auto runs = [&](const Operand& operand) { return operand.type == spec.outputs[0].type; };
  const auto running = std::find_if(spec.inputs.begin(), spec.inputs.end(), runs);
  if (running == spec.inputs.end()) return std::nullopt;
  main.running = static_cast<int>(running - spec.inputs.begin());
  main.node.node.operands.erase(main.node.node.operands.begin() + main.running);
  main.node.node.running_is_second = main.running == 1;
  main.node.first_operand = main.running == 0 ? 1 : 0;
  return main;
}

// The value as [before, channels, after] in memory, or as [1, before, channels] if no axes follow
// the channels.
DnnFrame FrameOf(const Operand& value, int channel_axis) {
  const std::vector<int64_t> dims = value.type.dims();
  const std::vector<int> order = PhysicalAxes(value.type.rank(), value.layout);
  int64_t before = 1, after = 1;
  bool is_behind = false;
  for (const int axis : order) {
    if (axis == channel_axis) {
      is_behind = true;
      continue;
    }
    (is_behind ? after : before) *= dims[axis];
  }
  const int64_t channels = dims[channel_axis];
  DnnFrame frame{
      .channel_axis = after == 1 ? 2 : 1, .type = value.type, .model_channel_axis = channel_axis};
  frame.full.type = value.type.dtype;
  frame.full.dims = after == 1 ? std::vector<int64_t>{1, before, channels}
                               : std::vector<int64_t>{before, channels, after};
  frame.full.strides = {frame.full.dims[1] * frame.full.dims[2], frame.full.dims[2], 1};
  return frame;
}

// Whether every operand of the nodes is broadcast by element or by channel.
bool AllSpread(const std::vector<EpilogueNode>& nodes, const Operand& value, int channel_axis) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const EpilogueNode& node) {
    if (node.node.op == "BatchNormalization") return channel_axis == 1;
    return std::all_of(
        node.node.operands.begin(), node.node.operands.end(), [&](const Operand& operand) {
          const Spread spread = SpreadOf(operand.type, value.type, channel_axis);
          return spread == Spread::kFull ? SameMemory(operand.type, operand.layout, value.layout)
                                         : spread != Spread::kOther;
        });
  });
}

}  // namespace

std::vector<Program> LowerElementwise(const KernelSpec& spec, MathPolicy policy) {
  // A single node runs at memory speed in Quotient's own kernel.
  if (spec.epilogue.empty() || spec.outputs.size() != 1 || !IsOfOneFloatType(spec) ||
      !IsChainNode({spec.op, spec.attributes, spec.inputs, spec.outputs[0].type})) {
    return {};
  }
  const int rank = spec.outputs[0].type.rank();
  if (rank < 2) return {};
  const std::optional<MainNode> main = MainNodeOf(spec);
  if (!main) return {};
  std::vector<EpilogueNode> nodes = EpilogueNodes(spec);
  nodes.insert(nodes.begin(), main->node);
  const Operand& value = spec.outputs[0];
  const Operand& running = spec.inputs[main->running];
  if (!DnnTakes(nodes, 0) || !SameMemory(running.type, running.layout, value.layout)) {
    return {};
  }
  for (const int channel_axis : {rank - 1, 1}) {
    if (!AllSpread(nodes, value, channel_axis)) continue;
    const DnnFrame frame = FrameOf(value, channel_axis);
    ProgramBuilder program(spec, "dnn");
    DnnBuilder graph(policy);
    const int first = graph.AddBuffer(frame.full, program.Operand(main->running));
    AddDnnEpilogue(nodes, 0, frame, first, program, graph);
    program.Add(std::move(graph).Finish());
    return {std::move(program).Finish()};
  }
  return {};
}

}  // namespace quotient::kernels::cuda
