#pragma once

// WordQueue: words in one growing piece of memory. Unlike a vector it grows without a second copy,
// and Release gives the memory back: the first touch of memory is a large part of what a million
// matches cost.

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/egraph/flat_array.h"

namespace quotient::egraph {

class WordQueue {
 public:
  size_t size() const { return size_; }
  std::span<const uint32_t> words() const { return {data(), size_}; }

  void push_back(uint32_t word) {
    if (size_ * sizeof(word) == memory_.bytes()) {
      memory_.Grow(std::max<size_t>(kInitialBytes, memory_.bytes() * 2));
    }
    data()[size_++] = word;
  }

  // To a size that it had.
  void Truncate(size_t size) { size_ = size; }
  void Release() {
    const WordMemory freed = std::move(memory_);
    size_ = 0;
  }

 private:
  static constexpr size_t kInitialBytes = 1024;
  uint32_t* data() const { return static_cast<uint32_t*>(memory_.data()); }

  WordMemory memory_;
  size_t size_ = 0;
};

}  // namespace quotient::egraph
