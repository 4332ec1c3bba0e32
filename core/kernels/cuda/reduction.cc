// ReduceSum, ReduceMax and ReduceMin of float32: cuDNN, if the reduced axes are the fastest in
// memory (channels last, or trailing axes). It has no means and no 16-bit results.

#include <optional>
#include <utility>

#include "core/kernels/cuda/epilogue.h"
#include "core/kernels/cuda/image.h"
#include "core/kernels/cuda/lower.h"
#include "core/kernels/layout.h"
#include "core/kernels/reduced_axes.h"

namespace quotient::kernels::cuda {
namespace {

DnnMode ModeOf(const KernelSpec& spec) {
  if (spec.op == "ReduceSum") return DnnMode::kReduceSum;
  if (spec.op == "ReduceMax") return DnnMode::kReduceMax;
  if (spec.op == "ReduceMin") return DnnMode::kReduceMin;
  return DnnMode::kNone;
}

// The number of elements of a row, if the reduced axes follow all others in memory and the output
// has the others in the same order.
std::optional<int64_t> RowLength(const KernelSpec& spec) {
  const Operand& input = spec.inputs[0];
  const std::vector<bool> reduced = ReducedAxes(spec);
  const std::vector<int64_t> dims = input.type.dims();
  const std::vector<int64_t> strides = ReducedStrides(spec, reduced);
  const std::vector<int> order = PhysicalAxes(input.type.rank(), input.layout);
  int64_t length = 1, step = 1;
  bool in_row = true;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    if (dims[*axis] == 1) continue;
    in_row = in_row && reduced[*axis];
    if (in_row) {
      length *= dims[*axis];
      continue;
    }
    if (reduced[*axis] || strides[*axis] != step) return std::nullopt;
    step *= dims[*axis];
  }
  return length;
}

}  // namespace

std::vector<Program> LowerReduction(const KernelSpec& spec, MathPolicy policy) {
  const DnnMode mode = ModeOf(spec);
  if (mode == DnnMode::kNone || spec.inputs.size() != 1 || spec.outputs.size() != 1 ||
      !spec.epilogue.empty() || !IsOfOneFloatType(spec) ||
      spec.inputs[0].type.dtype != model::DType::kFloat32) {
    return {};
  }
  const std::optional<int64_t> length = RowLength(spec);
  if (!length || *length == 1) return {};
  const int64_t rows = spec.inputs[0].type.elements() / *length;
  ProgramBuilder program(spec, "dnn");
  DnnBuilder graph(policy);
  DnnNode node{.op = DnnOp::kReduction, .mode = mode};
  node.inputs = {
      graph.AddBuffer(RowsOf(model::DType::kFloat32, rows, *length), program.Operand(0))};
  node.output = graph.AddBuffer(RowsOf(model::DType::kFloat32, rows, 1), program.Output(0));
  graph.Add(std::move(node));
  program.Add(std::move(graph).Finish());
  return {std::move(program).Finish()};
}

}  // namespace quotient::kernels::cuda
