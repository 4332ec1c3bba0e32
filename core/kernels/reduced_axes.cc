#include "core/kernels/reduced_axes.h"

#include "core/kernels/layout.h"
#include "core/ops/op.h"

namespace quotient::kernels {

std::vector<bool> ReducedAxes(const KernelSpec& spec) {
  const int rank = spec.inputs[0].type.rank();
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  const absl::StatusOr<model::Ints> axes =
      ops::FindOp(spec.op)->reduced_axes(spec.attributes, rank);
  for (const int64_t axis : *axes) reduced[axis] = true;  // Inference has checked them.
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
