#pragma once

// Copies between strided arrays, the heart of every kernel that only moves data.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quotient::kernels::cpu {

// One axis of a copy: how many items, and the distance between neighbours on both sides in items.
struct CopyAxis {
  int64_t count;
  int64_t from;
  int64_t to;
};

// A copy of a box of items, its axes joined where possible and sorted for the writing side.
class StridedCopy {
 public:
  // `item_bytes` is 1, 2, 4 or 8.
  StridedCopy(std::vector<CopyAxis> axes, int64_t item_bytes);

  // On up to `threads` threads.
  void Run(const void* from, void* to, int threads) const;

 private:
  enum class Inner { kRun, kTranspose, kFill, kGather };

  void CopyInner(const std::byte* from, std::byte* to) const;
  // Number of innermost axes that CopyInner takes.
  size_t inner_axes() const { return inner_ == Inner::kTranspose ? 2 : 1; }

  std::vector<CopyAxis> axes_;  // slowest on the writing side first; never empty
  int64_t item_bytes_;
  Inner inner_ = Inner::kGather;
};

// Strides for reading a tensor of `dims` and `strides` as if broadcast to `to` (right-aligned).
std::vector<int64_t> BroadcastStrides(std::span<const int64_t> dims,
                                      std::span<const int64_t> strides,
                                      std::span<const int64_t> to);

}  // namespace quotient::kernels::cpu
