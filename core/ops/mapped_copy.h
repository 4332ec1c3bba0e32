#pragma once

// Copies the elements of a tensor by an index map per axis: used by Pad, and by Resize to the
// nearest.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/model/tensor.h"

namespace quotient::ops {

// In an index map: take the border element instead of an input element.
inline constexpr int64_t kBorder = -1;

// The tensor whose element at index i is the input's element at (maps[0][i[0]], maps[1][i[1]],
// ...), or the first element of `border` if one of these is kBorder. Its dimensions are the maps'
// lengths.
model::Tensor MappedCopy(const model::Tensor& input, std::span<const std::vector<int64_t>> maps,
                         const model::Tensor& border, int threads);

}  // namespace quotient::ops
