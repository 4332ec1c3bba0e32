#pragma once

// Steps: operators that make a jump of a change in an operand's last bit. x / 49 is 1 for 49, but
// x * (1 / 49) is a little less, and Floor makes 0 of that. So what a step reads, at once or
// through other operators, must keep its rounding where ties are likely: behind exact arithmetic on
// few numbers. README.md of core/rules says how far that goes.

#include <vector>

#include "absl/strings/string_view.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"

namespace quotient::domain {

// Whether the operator is a step: Floor, a comparison, a Cast to integers and so on. ArgMax and
// ArgMin are none: what they choose among equals is judged when a result is checked.
bool IsStep(absl::string_view op, const model::AttributeMap& attributes);

// Whether a step behind the operator sees the last bits of what the operator reads. It does not
// behind contractions and normalizations, whose own sums a kernel rounds as it likes, nor where the
// result has no floats.
bool PassesLastBits(absl::string_view op, const model::TensorType& output);

// For each value whether a step reads it, at once or through operators that pass last bits. Two
// values that the same operator makes with the same constant count alike: rules may find out later
// that they are equal, and a rewrite of one is then one of the other.
std::vector<bool> ReadBySteps(const model::Graph& graph);

}  // namespace quotient::domain
