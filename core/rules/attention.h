#pragma once

// What the rules about Attention know of its masks.

#include <cstdint>

#include "core/model/dtype.h"
#include "core/ops/interval.h"

namespace quotient::rules {

// Masks with more elements are not read, and not made.
inline constexpr int64_t kMostMaskElements = 1 << 20;

// Whether a score that this is added to, or that it replaces, has no weight beside others.
inline bool Hides(double number, model::DType dtype) {
  return number <= -ops::LargestOf(dtype) / 2;
}

}  // namespace quotient::rules
