#pragma once

// Checks whether a value agrees with the facts of its class.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/domain/facts.h"
#include "core/model/tensor.h"

namespace quotient::domain {

// Says how the value contradicts the facts; empty if it does not. `slack` is a tolerance, relative
// to the largest finite element, for values that were not computed by the e-nodes that the facts
// come from.
inline std::string Contradiction(const Facts& facts, const model::Tensor& value, double slack = 0) {
  if (!model::IsComputable(value.dtype())) return "";
  double scale = 0;
  for (int64_t i = 0; slack > 0 && i < value.elements(); ++i) {
    if (std::isfinite(value.GetDouble(i))) scale = std::max(scale, std::abs(value.GetDouble(i)));
  }
  const double margin = slack * scale;
  const int64_t row = value.rank() == 0 ? 1 : value.dims().back();
  for (int64_t begin = 0; begin < value.elements(); begin += row) {
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t i = begin; i < begin + row; ++i) {
      const double x = value.GetDouble(i);
      if (std::isnan(x)) {
        if (facts.never_nan()) return "NaN in a value that is never NaN";
        largest =
            std::numeric_limits<double>::infinity();  // Row floors hold only for rows without NaN.
      } else if (!(x >= facts.values.low - margin && x <= facts.values.high + margin)) {
        return absl::StrCat(x, " is not in [", facts.values.low, ", ", facts.values.high, "]");
      }
      if (!std::isnan(x)) largest = std::max(largest, x);
    }
    if (largest < facts.row_floor - margin) return absl::StrCat("a row is below ", facts.row_floor);
  }
  return "";
}

}  // namespace quotient::domain
