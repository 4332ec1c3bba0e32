#pragma once

// Copies the elements of a tensor to where an index map per axis says: Pad and Resize to the
// nearest.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/model/tensor.h"

namespace quotient::ops {

// In an index map: the border's element instead of one of the input.
inline constexpr int64_t kBorder = -1;

// The tensor whose element at index i is the input's at (maps[0][i[0]], maps[1][i[1]], ...), or the
// first element of `border` where one of these is kBorder. The maps' lengths are its dimensions.
model::Tensor MappedCopy(const model::Tensor& input, std::span<const std::vector<int64_t>> maps,
                         const model::Tensor& border, int threads);

}  // namespace quotient::ops
