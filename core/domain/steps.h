#pragma once

// Steps are operators that turn a change of an operand's last bit into a jump. For x = 49, x / 49
// is 1, but x * (1 / 49) is a little less, which Floor turns into 0. So a value that a step reads,
// directly or through other operators, must keep its rounding where ties are likely, which is after
// exact arithmetic. The README of core/rules says how far this goes.

#include <vector>

#include "absl/strings/string_view.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"

namespace quotient::domain {

// Whether the operator is a step: Floor, a comparison, a Cast to integers and so on. ArgMax and
// ArgMin are not steps, because checking judges ties.
bool IsStep(absl::string_view op, const model::AttributeMap& attributes);

// Whether a change of an operand's last bit can reach a step that reads the operator's result.
// False for contractions and normalizations, because a kernel rounds their sums in its own way, and
// for results that are not floats.
bool PassesLastBits(absl::string_view op, const model::TensorType& output);

// For each value whether a step reads it, directly or through operators that pass last bits. Values
// that are made by the same operator with the same constant are treated alike: rules may find out
// later that they are equal, and then a rewrite of one is also a rewrite of the other.
std::vector<bool> ReadBySteps(const model::Graph& graph);

}  // namespace quotient::domain
