#pragma once

// The boxes of elements that moving operators copy from operands to outputs. Pure arithmetic on
// shapes and strides, for the kernels of every device.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/kernels/kernel_spec.h"

namespace quotient::kernels {

// One axis of a box: the number of elements, and the distance of neighbours on both sides.
struct CopyAxis {
  int64_t count;
  int64_t from;
  int64_t to;
};

// A copy of a box of elements. Distances and offsets are in elements.
struct Move {
  int operand = 0;  // Index into spec.inputs.
  int output = 0;
  int64_t from_offset = 0;
  int64_t to_offset = 0;
  std::vector<CopyAxis> axes;

  int64_t elements() const;
};

// The moves that fill all outputs of a Reorder, Identity, Reshape, Transpose, Slice, Split, Concat,
// Expand, Tile or similar spec. Returns nullopt for other operators, and if a parameter is not
// constant.
std::optional<std::vector<Move>> MovesOf(const KernelSpec& spec);

// Simplifies a box: drops axes of one element, sorts axes from slowest to fastest on the writing
// side, and joins neighbours that form one run on both sides. The result is never empty.
std::vector<CopyAxis> Simplify(std::vector<CopyAxis> axes);

// Whether all inputs except the first are left out.
bool ReadsOnlyInputZero(const KernelSpec& spec);

}  // namespace quotient::kernels
