#include "core/verify/slices.h"

#include <algorithm>

namespace quotient::verify {

Slices::Slices(std::span<const int64_t> dims) {
  for (int64_t dim : dims) elements_ *= dim;
  if (elements_ == 0) return;
  int64_t stride = elements_;
  for (int64_t dim : dims) {
    stride /= dim;
    if (dim == 1 || elements_ / dim < kLeastElements) continue;
    axes_.push_back({count_, dim, stride});
    count_ += dim;
  }
}

std::vector<int64_t> Slices::Sizes() const {
  std::vector<int64_t> sizes(count(), elements_);
  for (const Axis& axis : axes_) {
    std::fill_n(sizes.begin() + axis.first, axis.dim, elements_ / axis.dim);
  }
  return sizes;
}

double Least(std::span<const double> of_slices, std::span<const int64_t> numbers) {
  double least = of_slices[0];
  for (int64_t number : numbers) least = std::min(least, of_slices[static_cast<size_t>(number)]);
  return least;
}

}  // namespace quotient::verify
