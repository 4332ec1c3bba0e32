// MaxPool and AveragePool: cuDNN, channels last.

#include <optional>
#include <utility>

#include "core/kernels/cuda/epilogue.h"
#include "core/kernels/cuda/image.h"
#include "core/kernels/cuda/lower.h"
#include "core/ops/window.h"

namespace quotient::kernels::cuda {
namespace {

// Whether cuDNN computes the same windows as ONNX: without dilation, each with at least one pixel
// of the image, and none beyond the padding, where ceil_mode may put them.
bool IsOrdinary(const ops::Window& window, const model::Ints& image, const model::Ints& positions) {
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    const int64_t kernel = window.kernel[axis];
    if (window.dilations[axis] != 1) return false;
    if (window.pads_begin[axis] >= kernel || window.pads_end[axis] >= kernel) return false;
    const int64_t end = (positions[axis] - 1) * window.strides[axis] + kernel;
    if (end > image[axis] + window.Padding(axis)) return false;
  }
  return true;
}

std::optional<DnnNode> ReadNode(const KernelSpec& spec) {
  const Operand& input = spec.inputs[0];
  const model::Ints* kernel = spec.attributes.FindInts("kernel_shape");
  if (kernel == nullptr) return std::nullopt;
  const auto window =
      ops::ReadWindow(spec.attributes, *kernel, ops::SpatialDims(*input.type.shape));
  if (!window.ok() || !window->pads_known ||
      !IsOrdinary(*window, ops::SpatialDims(input.type.dims()),
                  ops::SpatialDims(spec.outputs[0].type.dims()))) {
    return std::nullopt;
  }
  DnnNode node{.op = DnnOp::kPool, .mode = DnnMode::kMaxPool};
  if (spec.op == "AveragePool") {
    node.mode = spec.attributes.GetInt("count_include_pad", 0) != 0
                    ? DnnMode::kAveragePoolWithPadding
                    : DnnMode::kAveragePoolWithoutPadding;
  }
  node.pads_begin = WithAxis(window->pads_begin, 0);
  node.pads_end = WithAxis(window->pads_end, 0);
  node.strides = WithAxis(window->strides, 1);
  node.window = WithAxis(window->kernel, 1);
  return node;
}

}  // namespace

std::vector<Program> LowerPool(const KernelSpec& spec, MathPolicy policy) {
  if ((spec.op != "MaxPool" && spec.op != "AveragePool") || spec.inputs.size() != 1 ||
      spec.outputs.size() != 1 || !spec.epilogue.empty() || !IsOfOneFloatType(spec)) {
    return {};
  }
  const Operand& input = spec.inputs[0];
  const int rank = input.type.rank();
  if (rank < 3 || rank > 5 || !IsChannelsLast(input) || !IsChannelsLast(spec.outputs[0])) return {};
  std::optional<DnnNode> node = ReadNode(spec);
  if (!node) return {};
  const auto channels_last = [](const Operand& operand) {
    return ImageOf(operand.type.dtype, operand.type.dims(), Layout::kChannelsLast);
  };
  ProgramBuilder program(spec, "dnn");
  DnnBuilder graph(policy);
  node->inputs = {graph.AddBuffer(channels_last(input), program.Operand(0))};
  node->output = graph.AddBuffer(channels_last(spec.outputs[0]), program.Output(0));
  graph.Add(*std::move(node));
  program.Add(std::move(graph).Finish());
  return {std::move(program).Finish()};
}

}  // namespace quotient::kernels::cuda
