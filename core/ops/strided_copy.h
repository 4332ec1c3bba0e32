#pragma once

// Copies a box of elements between two tensors with any strides. Transpose, Slice, Concat, Split,
// Expand and Tile use it.

#include <cstddef>
#include <cstdint>
#include <span>

namespace quotient::ops {

// For every index i of the box `dims`: to[to_offset + i . to_strides] = from[from_offset + i .
// from_strides]. Offsets and strides count elements. Strides may be negative, and those of `from`
// may be 0.
struct StridedCopy {
  std::span<const int64_t> dims;
  std::span<const int64_t> from_strides;
  int64_t from_offset = 0;
  std::span<const int64_t> to_strides;
  int64_t to_offset = 0;
};

// All elements must lie inside the buffers. Different indices must write different elements.
void Copy(const StridedCopy& copy, std::span<const std::byte> from, std::span<std::byte> to,
          int element_bytes, int threads);

}  // namespace quotient::ops
