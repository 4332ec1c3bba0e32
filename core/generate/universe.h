#pragma once

// Universes: what graphs are made of while rules are looked for. A universe has variables of a few
// fixed small types and operators with fixed attributes. What is equal there is a conjecture: a
// certificate has to show in which other shapes it holds.

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/attribute.h"

namespace quotient::generate {

using model::AttributeMap;
using model::Ints;

// All variables are float32. Those with the same dimensions and role may be renamed into each
// other.
struct Variable {
  std::string name;
  Ints dims;        // Small and mostly different, as all terms are evaluated with them.
  Ints large_dims;  // Of a usual network; prices are those of such a graph.
  bool is_weight = false;
};

struct Operator {
  std::string name;
  AttributeMap attributes;  // In canonical form.
  int num_operands = 1;     // 1 or 2.
  AttributeMap large_attributes;
  bool wants_weight = false;  // As second operand: what no network computes is no kernel.
};

struct Universe {
  std::string name;
  std::vector<Variable> variables;  // Those that may be renamed into each other are neighbours.
  std::vector<Operator> operators;
  // Whether the present rules may take weights for constants where they derive equations. TASO does
  // not tell weights from other tensors.
  bool weights_are_constants = true;
};

// The universes called "taso", "ours", or by one of their own names. INVALID_ARGUMENT for any other
// word.
absl::StatusOr<std::vector<Universe>> UniversesNamed(absl::string_view word);
std::vector<std::string> UniverseNames();

}  // namespace quotient::generate
