#pragma once

// Memory order of activations: which operators want channels last, and what that means in strides.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/shape.h"

namespace quotient::kernels {

// What an operator asks of the memory order of its activations.
enum class LayoutRole {
  kChannelsLast,  // Conv, pools: input 0 and output 0 channels last
  kTied,          // element-wise, Concat, ...: activations and outputs in one layout, either
  kAny,           // Transpose, Reduce: reads and writes any layout
  kPlain,         // all others
};
LayoutRole RoleOf(absl::string_view op);

// Whether values of this type have a layout to choose: floats of rank 3 to 5.
bool HasLayout(const model::TensorType& type);

// Axes from the slowest to the fastest in memory.
std::vector<int> PhysicalAxes(int rank, Layout layout);

// Distance of neighbours along each (logical) axis, in elements, of a packed tensor.
std::vector<int64_t> StridesOf(std::span<const int64_t> dims, Layout layout);

// Strides for reading a tensor of `dims` and `strides` as if broadcast to `to` (right-aligned).
std::vector<int64_t> BroadcastStrides(std::span<const int64_t> dims,
                                      std::span<const int64_t> strides,
                                      std::span<const int64_t> to);

// Whether both layouts put the elements of this (static) type at the same places: all spatial
// dimensions 1, or one channel.
bool SameMemory(const model::TensorType& type, Layout a, Layout b);

// Whether the operand's elements lie where the plain layout puts them.
bool IsPlain(const Operand& operand);

// kPlain where the layouts are the same, else `layout`.
Layout CanonicalLayout(const model::TensorType& type, Layout layout);

}  // namespace quotient::kernels
