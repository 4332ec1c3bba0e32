#pragma once

// Reads the elements of a tensor as doubles, without a copy of the whole tensor.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/model/tensor.h"

namespace quotient::verify {

// Reads the elements part by part, in row-major order. Borrows the tensor.
class PartReader {
 public:
  explicit PartReader(const model::Tensor& tensor)
      : tensor_(tensor), elements_(static_cast<size_t>(std::min(kMost, tensor.elements()))) {}

  // The elements from index begin() on, at most a few thousand; empty at the end. Valid until the
  // next call, and the caller's to change.
  std::span<double> Next() {
    begin_ = end_;
    const int64_t count = std::min(kMost, tensor_.elements() - begin_);
    end_ += count;
    const auto part = std::span(elements_).first(static_cast<size_t>(count));
    if (count > 0) tensor_.Load(begin_, part);
    return part;
  }
  int64_t begin() const { return begin_; }

 private:
  static constexpr int64_t kMost = 4096;

  const model::Tensor& tensor_;
  std::vector<double> elements_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

// Reads the elements one by one, in row-major order. Borrows the tensor.
class ElementReader {
 public:
  explicit ElementReader(const model::Tensor& tensor) : parts_(tensor) {}

  // Must not be called more often than the tensor has elements.
  double Next() {
    if (next_ == part_.size()) {
      part_ = parts_.Next();
      next_ = 0;
    }
    return part_[next_++];
  }

 private:
  PartReader parts_;
  std::span<const double> part_;
  size_t next_ = 0;
};

// Whether `test` holds for some element.
template <typename Test>
bool AnyElement(const model::Tensor& tensor, Test test) {
  PartReader reader(tensor);
  for (std::span<const double> part = reader.Next(); !part.empty(); part = reader.Next()) {
    if (std::ranges::any_of(part, test)) return true;
  }
  return false;
}

}  // namespace quotient::verify
