#pragma once

// The slices of a tensor: for every axis, the elements that have the same index on it (a channel, a
// column, one image of a batch). They say what surrounds an element.

#include <cstdint>
#include <optional>
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

  // Neighbours that lie in the same slices, but for those of the last axis.
  struct Run {
    int64_t begin;  // index of the first element
    int64_t count;
    std::span<const int64_t> shared;  // numbers of the slices that all of them lie in
    // Number of the slice of the last axis that the first element lies in; each next element lies
    // in the next one. Nothing where the last axis does not count.
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

  // Calls visit(index, numbers of the slices that the element lies in) for every element, in
  // row-major order. Slower than by runs.
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

  // How many elements each slice holds, by number.
  std::vector<int64_t> Sizes() const;

 private:
  struct Axis {
    int64_t first;   // number of its first slice
    int64_t dim;     // how many slices it has
    int64_t stride;  // elements from one index to the next
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
