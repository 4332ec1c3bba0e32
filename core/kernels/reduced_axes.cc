#include "core/kernels/reduced_axes.h"

#include "core/kernels/layout.h"

namespace quotient::kernels {

std::vector<bool> ReducedAxes(const KernelSpec& spec) {
  const int64_t rank = spec.inputs[0].type.rank();
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  const auto reduce = [&](int64_t axis) { reduced[axis < 0 ? axis + rank : axis] = true; };
  if (spec.op == "GlobalAveragePool" || spec.op == "GlobalMaxPool") {
    for (int64_t axis = 2; axis < rank; ++axis) reduce(axis);
    return reduced;
  }
  if (spec.op == "ArgMax" || spec.op == "ArgMin") {
    reduce(spec.attributes.GetInt("axis", 0));
    return reduced;
  }
  const model::Ints axes = spec.attributes.GetInts("axes");
  if (axes.empty() && spec.attributes.GetInt("noop_with_empty_axes", 0) == 0) {
    reduced.flip();
  }
  for (const int64_t axis : axes) reduce(axis);
  return reduced;
}

std::vector<int64_t> ReducedStrides(const KernelSpec& spec, const std::vector<bool>& reduced) {
  const Operand& output = spec.outputs[0];
  const std::vector<int64_t> strides = StridesOf(output.type.dims(), output.layout);
  const bool keeps_dims = output.type.rank() == spec.inputs[0].type.rank();
  std::vector<int64_t> result(reduced.size(), 0);
  size_t next = 0;
  for (size_t axis = 0; axis < reduced.size(); ++axis) {
    if (keeps_dims) next = axis;
    if (!reduced[axis]) result[axis] = strides[next++];
  }
  return result;
}

}  // namespace quotient::kernels
