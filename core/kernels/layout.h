#pragma once

// Memory order of activations: which operators want channels last, and the resulting strides.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/shape.h"
#include "core/ops/op.h"

namespace quotient::kernels {

using ops::LayoutRole;
// That of the operator's row. Kernels that only change a layout have any, unknown operators are
// plain.
LayoutRole RoleOf(absl::string_view op);

// Whether values of this type have a choice of layout: floats of rank 3 to 5.
bool HasLayout(const model::TensorType& type);

// Axes from the slowest to the fastest in memory.
std::vector<int> PhysicalAxes(int rank, Layout layout);

// An axis of a packed tensor as it lies in memory: in each of `outer` pieces, `length` rows of
// `inner` elements, of which every element is one step along the axis behind the one of the row
// before.
struct AxisInMemory {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
};
AxisInMemory FindAxis(std::span<const int64_t> dims, int64_t axis, Layout layout);

// The distance of neighbours along each (logical) axis, in elements, in a packed tensor.
std::vector<int64_t> StridesOf(std::span<const int64_t> dims, Layout layout);

// Strides for reading a tensor of `dims` and `strides` as if broadcast to `to` (right-aligned).
std::vector<int64_t> BroadcastStrides(std::span<const int64_t> dims,
                                      std::span<const int64_t> strides,
                                      std::span<const int64_t> to);

// Whether both layouts put the elements of this static type at the same places, because all spatial
// dimensions are 1 or there is one channel.
bool SameMemory(const model::TensorType& type, Layout a, Layout b);

// Whether the operand's elements lie where the plain layout puts them.
bool IsPlain(const Operand& operand);

// kPlain if `layout` has the same memory order, otherwise `layout`.
Layout CanonicalLayout(const model::TensorType& type, Layout layout);

}  // namespace quotient::kernels
