#pragma once

// The slices of a tensor. For every axis, the elements with the same index on it are a slice: a
// channel, a column, one image of a batch. Slices are used to judge an element by those around it.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace quotient::verify {

// Slices are numbered: 0 is the whole tensor, then come the slices of each axis in turn. Axes whose
// slices have fewer than kLeastElements elements are left out, because a few elements may all be
// small by chance. (Four normally distributed numbers are all below a twentieth of the standard
// deviation in 3 of a million cases.)
class Slices {
 public:
  static constexpr int64_t kLeastElements = 4;

  explicit Slices(std::span<const int64_t> dims);

  int64_t elements() const { return elements_; }
  size_t count() const { return static_cast<size_t>(count_); }

  // Consecutive elements that are in the same slices, except for slices of the last axis.
  struct Run {
    int64_t begin;  // Index of the first element.
    int64_t count;
    std::span<const int64_t> shared;  // Numbers of the slices that contain all of them.
    // Number of the last axis's slice that contains the first element. Each further element is in
    // the next slice. Missing if the last axis is left out.
    std::optional<int64_t> own;
  };

  // Calls visit(run) for all elements, in row-major order.
  template <typename Visit>
  void ForEachRun(Visit&& visit) const {
    const bool has_own = !axes_.empty() && axes_.back().stride == 1;
    const size_t outer = axes_.size() - (has_own ? 1 : 0);
    std::vector<int64_t> numbers(outer + 1, 0);
    std::vector<int64_t> left(outer);
    for (size_t a = 0; a < outer; ++a) {
      numbers[a + 1] = axes_[a].first;
      left[a] = axes_[a].stride;
    }
    Run run{.count = RunLength(), .shared = numbers};
    if (has_own) run.own = axes_.back().first;
    for (run.begin = 0; run.begin < elements_; run.begin += run.count) {
      visit(run);
      for (size_t a = 0; a < outer; ++a) {
        left[a] -= run.count;
        if (left[a] > 0) continue;
        left[a] = axes_[a].stride;
        if (++numbers[a + 1] == axes_[a].first + axes_[a].dim) numbers[a + 1] = axes_[a].first;
      }
    }
  }

  // Calls visit(index, numbers of the slices that contain the element) for every element, in
  // row-major order. Slower than ForEachRun.
  template <typename Visit>
  void ForEachElement(Visit&& visit) const {
    std::vector<int64_t> numbers;
    ForEachRun([&](const Run& run) {
      numbers.assign(run.shared.begin(), run.shared.end());
      if (run.own.has_value()) numbers.push_back(*run.own);
      for (int64_t i = 0; i < run.count; ++i) {
        visit(run.begin + i, std::span<const int64_t>(numbers));
        if (run.own.has_value()) ++numbers.back();
      }
    });
  }

  // The number of elements in each slice, by number of the slice.
  std::vector<int64_t> Sizes() const;

 private:
  struct Axis {
    int64_t first;   // Number of its first slice.
    int64_t dim;     // Number of slices.
    int64_t stride;  // Number of elements from one index to the next.
  };

  int64_t RunLength() const {
    if (axes_.empty()) return elements_;
    return axes_.back().stride == 1 ? axes_.back().dim : axes_.back().stride;
  }

  int64_t elements_ = 1;
  int64_t count_ = 1;
  std::vector<Axis> axes_;
};

// The smallest of `of_slices` among the slices with these numbers.
double Least(std::span<const double> of_slices, std::span<const int64_t> numbers);

}  // namespace quotient::verify
