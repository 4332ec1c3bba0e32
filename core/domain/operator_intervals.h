#pragma once

// How each operator maps the intervals of its inputs to that of its output.

#include <span>

#include "absl/strings/string_view.h"
#include "core/domain/facts.h"
#include "core/domain/interval.h"

namespace quotient::domain {

// The interval of output 0. An operator without a rule of its own has the range of its row
// (core/ops). For an unknown operator it is any value of the output's type.
Interval IntervalOfOperator(absl::string_view op, const model::AttributeMap& attributes,
                            std::span<const FactInput> inputs, const model::TensorType& output);

}  // namespace quotient::domain
