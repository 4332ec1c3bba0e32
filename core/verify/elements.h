#pragma once

// Reads the elements of a tensor as doubles, without a copy of the whole tensor.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/model/tensor.h"

namespace quotient::verify {

// Calls visit(elements) for consecutive parts of the tensor in row-major order, until it returns
// false.
template <typename Visit>
void VisitElements(const model::Tensor& tensor, Visit&& visit) {
  constexpr int64_t kStretch = 4096;
  std::vector<double> elements(static_cast<size_t>(std::min(kStretch, tensor.elements())));
  for (int64_t begin = 0; begin < tensor.elements(); begin += kStretch) {
    const auto part = std::span(elements).first(
        static_cast<size_t>(std::min(kStretch, tensor.elements() - begin)));
    tensor.Load(begin, part);
    if (!visit(std::span<const double>(part))) return;
  }
}

// Whether `test` holds for some element.
template <typename Test>
bool AnyElement(const model::Tensor& tensor, Test test) {
  bool found = false;
  VisitElements(tensor, [&](std::span<const double> elements) {
    found = std::ranges::any_of(elements, test);
    return !found;
  });
  return found;
}

}  // namespace quotient::verify
