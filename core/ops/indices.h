#pragma once

// What operators that read or write at computed positions have in common.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/tensor.h"

namespace quotient::ops {

// The indices as numbers in [0, size). Fails with FAILED_PRECONDITION if one is outside [-size,
// size).
absl::StatusOr<std::vector<int64_t>> ReadIndices(const model::Tensor& tensor, int64_t size);

// Copies blocks of `block_bytes` each: block i of `to` is block sources[i] of `from`.
void CopyBlocks(std::span<const std::byte> from, std::span<const int64_t> sources,
                size_t block_bytes, std::span<std::byte> to, int threads);

}  // namespace quotient::ops
