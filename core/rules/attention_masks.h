#pragma once

// What the rules about Attention know of its masks.

#include <cstdint>

#include "core/model/dtype.h"
#include "core/ops/interval.h"
#include "core/rules/terms.h"

namespace quotient::rules {

// Masks with more elements are not read, and not made.
inline constexpr int64_t kMostMaskElements = 1 << 20;

// Whether a score that this is added to, or that it replaces, has no weight beside others.
inline bool Hides(double number, model::DType dtype) {
  return number <= -ops::LargestOf(dtype) / 2;
}

// Whether a condition is known to be `wanted` somewhere in every row.
bool ShowsSomethingInEachRow(const ClassData& condition, bool wanted = true);
// Whether each row of a mask that is added has an element above the lowest number.
bool ShowsKeys(const ClassData& mask);
// Whether all of its elements are above the lowest number.
bool HidesNoKey(const ClassData& mask);

}  // namespace quotient::rules
