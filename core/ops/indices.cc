#include "core/ops/indices.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/parallel.h"

namespace quotient::ops {

absl::StatusOr<std::vector<int64_t>> ReadIndices(const model::Tensor& tensor, int64_t size) {
  std::vector<int64_t> indices = tensor.AsInts();
  for (int64_t& index : indices) {
    if (index < -size || index >= size) {
      return absl::FailedPreconditionError(
          absl::StrCat("index ", index, " is out of range for ", size, " elements"));
    }
    if (index < 0) index += size;
  }
  return indices;
}

void CopyBlocks(std::span<const std::byte> from, std::span<const int64_t> sources,
                size_t block_bytes, std::span<std::byte> to, int threads) {
  if (block_bytes == 0) return;
  const int64_t grain = 1 + static_cast<int64_t>((size_t{1} << 18) / block_bytes);
  ParallelFor(
      static_cast<int64_t>(sources.size()), grain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          std::memcpy(to.data() + static_cast<size_t>(i) * block_bytes,
                      from.data() + static_cast<size_t>(sources[i]) * block_bytes, block_bytes);
        }
      });
}

}  // namespace quotient::ops
