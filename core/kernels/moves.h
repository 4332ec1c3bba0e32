#pragma once

// What operators that only move elements move: boxes of them, from operands into outputs. Pure
// arithmetic on shapes and strides, for the kernels of every device.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/kernels/kernel_spec.h"

namespace quotient::kernels {

// One axis of a box: how many elements, and the distance of neighbours on both sides.
struct CopyAxis {
  int64_t count;
  int64_t from;
  int64_t to;
};

// A box of elements; distances and offsets in elements.
struct Move {
  int operand = 0;  // of spec.inputs
  int output = 0;
  int64_t from_offset = 0;
  int64_t to_offset = 0;
  std::vector<CopyAxis> axes;

  int64_t elements() const;
};

// The moves that fill all outputs of a spec of Reorder, Identity, Reshape, Transpose, Slice, Split,
// Concat, Expand, Tile and their like. Nothing for other operators, and where one has a parameter
// that is not constant.
std::optional<std::vector<Move>> MovesOf(const KernelSpec& spec);

// The same box: without axes of one element, slowest on the writing side first, and with
// neighbours joined that are one run on both sides. Never empty.
std::vector<CopyAxis> Simplify(std::vector<CopyAxis> axes);

// Whether all inputs but the first are left out.
bool ReadsOnlyInputZero(const KernelSpec& spec);

}  // namespace quotient::kernels
