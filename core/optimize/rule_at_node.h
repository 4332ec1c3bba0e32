#pragma once

// What a rule finds around a node, in the e-graph as it was before the search or as it is after it.

#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/near_match.h"
#include "core/egraph/rule.h"

namespace quotient::optimize {

struct RuleAtNode {
  // Matches in which the node takes part: as an e-node of the pattern or, for a site rule, as a
  // class that the match names or makes equal to another. At most 64 of each pattern.
  std::vector<egraph::Match> matches;
  // The classes that these matches make equal to others. For a site rule, as far as they are not
  // equal yet.
  std::vector<egraph::ClassId> roots;
  // For a pattern without matches: what came nearest, if anything did.
  std::optional<egraph::NearMatch> nearest;
  // Whether there was too much to look at, or no time, so that matches may be missing.
  bool cut_short = false;
};

// `classes` are those of the node's outputs. The e-graph is clean, and is the same afterwards.
// When `stop` fires, what was found by then is returned.
RuleAtNode LookAround(const egraph::Rule& rule, const domain::TensorEGraph& tensors,
                      std::span<const egraph::ClassId> classes, const StopCondition& stop);

// Whether a rule with this origin has already been applied: one of the matches or, for a rule by
// hand, anything that made one of `roots` equal to something. False if `stop` fires first.
bool WasApplied(const egraph::Rule& rule, egraph::Origin origin, const egraph::EGraph& graph,
                std::span<const egraph::Match> matches, std::span<const egraph::ClassId> roots,
                const StopCondition& stop);

}  // namespace quotient::optimize
