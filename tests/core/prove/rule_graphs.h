#pragma once

// Graphs to certify a rule of a user in, who gives none: those of the cases of our own rules in
// which it has a match, and graphs of its left side that are drawn at random (left_graphs.h).

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/graph.h"
#include "tests/core/prove/left_graphs.h"
#include "tests/core/prove/rule_file.h"

namespace quotient::prove {

class RuleGraphs {
 public:
  // Reads the cases of our rules.
  RuleGraphs();

  // Graphs in which the rule has a match, at most 40. If none is found, some in which its left side
  // may be, so that one can say what refuses it. Deterministic for a seed. Fails if the rule cannot
  // be made.
  absl::StatusOr<std::vector<model::Graph>> Of(const FileRule& rule, uint64_t seed) const;

 private:
  // A graph, and the same with every symbol bound.
  struct CaseGraph {
    model::Graph graph;
    model::Graph bound;
  };
  std::vector<CaseGraph> cases_;
  AttributeChoices choices_;
};

}  // namespace quotient::prove
