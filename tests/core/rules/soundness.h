#pragma once

// The oracle for rules. An e-graph is sound if every e-node, evaluated by the reference evaluator
// on the values of its children, gives the value of its class. Then every choice of e-nodes does,
// too. The facts of a class must also hold for each of these values, up to rounding.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/domain/tensor_egraph.h"
#include "core/eval/evaluator.h"
#include "core/rules/rule_set.h"

namespace quotient::rules {

// Parses a static graph and infers its types. Ends the program if the text is wrong.
model::Graph ParseStatic(absl::string_view text);
// The graph with every symbol bound to 2. Ends the program if that cannot be.
model::Graph Measured(const model::Graph& graph);

// Kinds of random inputs. Integers are small; those of wide inputs have either sign.
enum class Values {
  kUnit,  // Floats uniform in [-1, 1).
  kWide,  // Magnitudes from 1e-3 to 1e3 of either sign, zeros, halves, small integers.
};
eval::ValueMap RandomInputs(const model::Graph& graph, uint64_t seed,
                            Values values = Values::kUnit);

// Applies the rules everywhere, `iterations` times, or until the graph has `max_enodes`. What a
// rule makes has its place among `rules` for an origin, counted from `first_origin`. Returns how
// often each rule changed the graph.
std::map<std::string, int> Grow(domain::TensorEGraph& tensors,
                                std::span<const egraph::Rule* const> rules, int iterations,
                                int64_t max_enodes = 3000, egraph::Origin first_origin = 1);

// All matches of a rule in the present e-graph.
std::vector<egraph::Match> MatchesOf(const domain::TensorEGraph& tensors, const egraph::Rule& rule);

// `error` says what is wrong and is empty if nothing is. `checked` is the number of e-nodes
// compared, and `origin` that of the e-node that is wrong, if it is one.
struct Verdict {
  std::string error;
  int64_t checked = 0;
  egraph::Origin origin = egraph::kInputOrigin;
};
Verdict CheckSoundness(const domain::TensorEGraph& tensors, const eval::ValueMap& inputs,
                       double tolerance = 1e-4);

// Whether rules have added an e-node to a class of the original graph, or made two of its classes
// equal.
bool ChangesOriginalClass(const domain::TensorEGraph& tensors);

// A choice that prefers e-nodes made by rules.
std::vector<egraph::ENodeId> ChooseNew(const domain::TensorEGraph& tensors);

// The largest difference, relative to the largest element. Infinite if shapes or NaNs differ.
double RelativeError(const model::Tensor& expected, const model::Tensor& actual);

}  // namespace quotient::rules
