#pragma once

// What each operator makes of the intervals of its inputs.

#include <span>

#include "absl/strings/string_view.h"
#include "core/domain/facts.h"
#include "core/domain/interval.h"

namespace quotient::domain {

// The interval of output 0. An operator that is not known gives anything of the output's type.
Interval IntervalOfOperator(absl::string_view op, const model::AttributeMap& attributes,
                            std::span<const FactInput> inputs, const model::TensorType& output);

}  // namespace quotient::domain
