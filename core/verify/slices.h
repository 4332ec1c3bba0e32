#pragma once

// The slices of a tensor: for every axis, the elements that have the same index on it (a channel, a
// column, one image of a batch). They say what surrounds an element.

#include <cstdint>
#include <span>
#include <vector>

namespace quotient::verify {

// Slices have numbers: 0 is the whole tensor, then come those of each axis in turn. An axis counts
// if each of its slices holds at least kLeastElements elements: fewer may all be small by chance
// (four numbers of a normal distribution are all below a twentieth of its deviation in 3 of a
// million cases).
class Slices {
 public:
  static constexpr int64_t kLeastElements = 4;

  explicit Slices(std::span<const int64_t> dims);

  int64_t elements() const { return elements_; }
  size_t count() const { return static_cast<size_t>(count_); }

  // Calls visit(index, numbers of the slices that the element lies in) for every element, in
  // row-major order.
  template <typename Visit>
  void ForEachElement(Visit&& visit) const {
    std::vector<int64_t> numbers(axes_.size() + 1, 0);
    std::vector<int64_t> left(axes_.size());
    for (size_t a = 0; a < axes_.size(); ++a) {
      numbers[a + 1] = axes_[a].first;
      left[a] = axes_[a].stride;
    }
    for (int64_t index = 0; index < elements_; ++index) {
      visit(index, std::span<const int64_t>(numbers));
      for (size_t a = 0; a < axes_.size(); ++a) {
        if (--left[a] > 0) continue;
        left[a] = axes_[a].stride;
        if (++numbers[a + 1] == axes_[a].first + axes_[a].dim) numbers[a + 1] = axes_[a].first;
      }
    }
  }

  // How many elements each slice holds, by number.
  std::vector<int64_t> Sizes() const;

 private:
  struct Axis {
    int64_t first;   // number of its first slice
    int64_t dim;     // how many slices it has
    int64_t stride;  // elements from one index to the next
  };

  int64_t elements_ = 1;
  int64_t count_ = 1;
  std::vector<Axis> axes_;
};

// The smallest of `of_slices` among the slices with these numbers.
double Least(std::span<const double> of_slices, std::span<const int64_t> numbers);

}  // namespace quotient::verify
