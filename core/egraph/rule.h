#pragma once

// Rule: what a saturation loop needs to know of a rewrite. Pattern rules (pattern.h) and the
// hand-written families of core/rules both implement it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/egraph/egraph.h"

namespace quotient::egraph {

// A place where a rule applies: flat words whose meaning the rule knows. `classes` and `ops`
// together identify the match: a saturation loop applies each canonical match once.
struct Match {
  std::vector<ClassId> classes;
  std::vector<OpId> ops;
};

// Takes matches; returns false when it wants no more (a bound was reached).
class MatchSink {
 public:
  virtual ~MatchSink() = default;
  virtual bool Add(Match match) = 0;
};

class Rule {
 public:
  virtual ~Rule() = default;

  // Stable, unique, lower-case with dashes: "conv-merge". Can be disabled by it.
  virtual const std::string& name() const = 0;
  // The equation for people: "Relu(Concat(x, y)) = Concat(Relu(x), Relu(y))".
  virtual const std::string& equation() const = 0;

  // The pattern that the rule is, if it is nothing else: such rules can be matched together and
  // incrementally (matcher.h).
  virtual const struct Program* program() const { return nullptr; }

  // Reports all matches in a clean graph, in a deterministic order. Does not change the graph.
  virtual void Search(const EGraph& graph, MatchSink& sink) const = 0;

  // Adds the right sides of one match (found earlier; classes may have been merged since) and
  // unites them with their left sides. True if the graph changed. A right side that is ill-typed
  // is not an error: the rule leaves the graph alone (apart from harmless new e-nodes) and says
  // false.
  virtual absl::StatusOr<bool> Apply(EGraph& graph, const Match& match, Origin origin) const = 0;
};

}  // namespace quotient::egraph
