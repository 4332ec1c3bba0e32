#pragma once

// The oracle of the rules: an e-graph is sound if every e-node, computed by the reference evaluator
// on its children's values, gives its class's value. Then every choice of e-nodes does, too. And
// what the facts of a class say must be true of each of these, up to rounding.

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

// A static graph with inferred types, from text. Ends the program if the text is wrong.
model::Graph ParseStatic(absl::string_view text);

// What random inputs are like. Integers are small, those of wide inputs of either sign.
enum class Values {
  kUnit,  // floats uniform in [-1, 1)
  kWide,  // sizes from 1e-3 to 1e3 of either sign, zeros, halves, small integers
};
eval::ValueMap RandomInputs(const model::Graph& graph, uint64_t seed,
                            Values values = Values::kUnit);

// Applies the rules everywhere, up to that many times, as long as the graph is small. How often
// each rule changed the graph.
std::map<std::string, int> Grow(domain::TensorEGraph& tensors,
                                std::span<const egraph::Rule* const> rules, int iterations,
                                int64_t max_enodes = 3000);

// All matches of a rule now.
std::vector<egraph::Match> MatchesOf(const domain::TensorEGraph& tensors, const egraph::Rule& rule);

// What is wrong, empty if nothing is. `checked` counts the e-nodes compared.
struct Verdict {
  std::string error;
  int64_t checked = 0;
};
Verdict CheckSoundness(const domain::TensorEGraph& tensors, const eval::ValueMap& inputs,
                       double tolerance = 1e-4);

// Whether a rule said something new of a value of the original graph: an e-node for it, or that it
// is equal to another one.
bool ChangesOriginalClass(const domain::TensorEGraph& tensors);

// A choice that takes e-nodes made by rules wherever it can.
std::vector<egraph::ENodeId> ChooseNew(const domain::TensorEGraph& tensors);

// Largest difference, relative to the largest element; infinite where shapes or NaNs differ.
double RelativeError(const model::Tensor& expected, const model::Tensor& actual);

}  // namespace quotient::rules
