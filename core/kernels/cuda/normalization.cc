// LayerNormalization and RMSNormalization: cuDNN, over rows.

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/kernels/cuda/epilogue.h"
#include "core/kernels/cuda/image.h"
#include "core/kernels/cuda/lower.h"
#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {
namespace {

// Removes leading axes of size 1.
std::vector<int64_t> Trimmed(std::vector<int64_t> dims) {
  dims.erase(dims.begin(),
             std::find_if(dims.begin(), dims.end(), [](int64_t dim) { return dim != 1; }));
  return dims;
}

// Whether an operand has one element for each element of a row, in the same order.
bool IsRow(const Operand& operand, const std::vector<int64_t>& row) {
  return IsPlain(operand) && Trimmed(operand.type.dims()) == Trimmed(row);
}

bool HasBias(const KernelSpec& spec) {
  return spec.inputs.size() > 2 && spec.inputs[2].type.dtype != model::DType::kUndefined;
}

}  // namespace

std::vector<Program> LowerNormalization(const KernelSpec& spec, MathPolicy policy) {
  const bool is_layer = spec.op == "LayerNormalization";
  if ((!is_layer && spec.op != "RMSNormalization") || spec.inputs.size() < 2 ||
      spec.outputs.size() != 1 || !spec.epilogue.empty() || !IsOfOneFloatType(spec) ||
      !IsPlain(spec.inputs[0]) || !IsPlain(spec.outputs[0])) {
    return {};
  }
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  int64_t axis = spec.attributes.GetInt("axis", -1);
  if (axis < 0) axis += static_cast<int64_t>(dims.size());
  const std::vector<int64_t> row(dims.begin() + axis, dims.end());
  if (!IsRow(spec.inputs[1], row) || (HasBias(spec) && !IsRow(spec.inputs[2], row))) return {};
  const int64_t length = std::accumulate(row.begin(), row.end(), int64_t{1}, std::multiplies<>());
  const model::DType type = spec.inputs[0].type.dtype;
  const DnnTensor rows = RowsOf(type, spec.inputs[0].type.elements() / length, length);
  const DnnTensor one_row = RowsOf(type, 1, length);
  ProgramBuilder program(spec, "dnn");
  DnnBuilder graph(policy);
  DnnNode node{.op = is_layer ? DnnOp::kLayerNorm : DnnOp::kRmsNorm,
               .inputs = {graph.AddBuffer(rows, program.Operand(0)),
                          graph.AddBuffer(one_row, program.Operand(1))},
               .epsilon = spec.attributes.GetFloat("epsilon", 1e-5f)};
  if (is_layer) {  // cuDNN's always has a bias.
    const BufferRef bias =
        HasBias(spec)
            ? program.Operand(2)
            : program.Constant(
                  {.form = PackedConstant::Form::kFilled, .type = type, .elements = length});
    node.inputs.push_back(graph.AddBuffer(one_row, bias));
  }
  node.output = graph.AddBuffer(rows, program.Output(0));
  graph.Add(std::move(node));
  program.Add(std::move(graph).Finish());
  return {std::move(program).Finish()};
}

}  // namespace quotient::kernels::cuda
