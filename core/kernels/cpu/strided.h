#pragma once

// Copies between strided arrays, used by every kernel that only moves data.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/kernels/moves.h"

namespace quotient::kernels::cpu {

// A copy of a box of items.
class StridedCopy {
 public:
  // `item_bytes` is 1, 2, 4 or 8.
  StridedCopy(std::vector<CopyAxis> axes, int64_t item_bytes);

  // Uses up to `threads` threads.
  void Run(const void* from, void* to, int threads) const;

 private:
  enum class Inner { kRun, kTranspose, kFill, kGather };

  void CopyInner(const std::byte* from, std::byte* to) const;
  // Number of innermost axes that CopyInner processes.
  size_t inner_axes() const { return inner_ == Inner::kTranspose ? 2 : 1; }

  std::vector<CopyAxis> axes_;  // Slowest on the writing side first; never empty.
  int64_t item_bytes_;
  Inner inner_ = Inner::kGather;
};

}  // namespace quotient::kernels::cpu
