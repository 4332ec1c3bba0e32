#pragma once

// WordQueue: words in one growing block of memory. Unlike a vector it grows in place, and Clear
// frees the memory of a long queue: touching new memory is a large part of the cost of a million
// matches.

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/egraph/flat_array.h"

namespace quotient::egraph {

class WordQueue {
 public:
  size_t size() const { return size_; }
  std::span<const uint32_t> words() const { return {data(), size_}; }

  // Appends `count` words, for the caller to write.
  uint32_t* Append(size_t count) {
    const size_t bytes = (size_ + count) * sizeof(uint32_t);
    if (bytes > memory_.bytes()) {
      memory_.Grow(std::max({kInitialBytes, bytes, memory_.bytes() * 2}));
    }
    uint32_t* const words = data() + size_;
    size_ += count;
    return words;
  }

  // Shrinks to `size`, which it must have had before.
  void Truncate(size_t size) { size_ = size; }
  // Empties the queue. Its memory is kept for the next words unless it is large.
  void Clear() {
    if (memory_.bytes() > kMostKeptBytes) memory_ = WordMemory();
    size_ = 0;
  }

 private:
  static constexpr size_t kInitialBytes = 1024;
  static constexpr size_t kMostKeptBytes = size_t{1} << 20;
  uint32_t* data() const { return static_cast<uint32_t*>(memory_.data()); }

  WordMemory memory_;
  size_t size_ = 0;
};

}  // namespace quotient::egraph
