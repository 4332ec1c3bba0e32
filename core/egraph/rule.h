#pragma once

// A rewrite rule as a saturation loop sees it. Pattern rules (pattern.h) and the hand-written
// families of core/rules implement it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/egraph/egraph.h"

namespace quotient::egraph {

// A place where a rule applies, in words whose meaning only the rule knows. `classes` and `ops`
// together identify the match: a saturation loop applies each canonical match once.
struct Match {
  std::vector<ClassId> classes;
  std::vector<OpId> ops;
};

// Takes matches. Returns false when it wants no more, because a bound was reached.
class MatchSink {
 public:
  virtual ~MatchSink() = default;
  virtual bool Add(Match match) = 0;
};

class Rule {
 public:
  virtual ~Rule() = default;

  // Stable and unique, lower-case with dashes: "conv-merge". Rules are disabled by this name.
  virtual const std::string& name() const = 0;
  // The equation for people to read: "Relu(Concat(x, y)) = Concat(Relu(x), Relu(y))".
  virtual const std::string& equation() const = 0;

  // The compiled pattern, if the rule is nothing but a pattern. Such rules can be matched together
  // and incrementally (matcher.h).
  virtual const struct Program* program() const { return nullptr; }

  // Reports all matches in a clean graph, in a deterministic order.
  virtual void Search(const EGraph& graph, MatchSink& sink) const = 0;

  // Adds the right sides of one match and unites them with their left sides; returns whether the
  // graph changed. Classes may have been merged since the match was found. If a right side is
  // ill-typed the rule does not apply: it returns false, and may leave e-nodes behind, which do no
  // harm.
  virtual absl::StatusOr<bool> Apply(EGraph& graph, const Match& match, Origin origin) const = 0;
};

}  // namespace quotient::egraph
