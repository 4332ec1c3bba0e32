#pragma once

// A rewrite rule as a saturation loop sees it. Pattern rules (pattern.h) and the rules by
// hand of core/rules implement it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/egraph/egraph.h"

namespace quotient::egraph {

// A place where a rule applies, in words whose meaning only the rule knows. All members together
// identify the match: a saturation loop applies each canonical match once.
struct Match {
  std::vector<ClassId> classes;
  std::vector<OpId> ops;
  uint32_t alternative = 0;  // Which of several left sides of the rule it is a match of.
};

// Takes matches. Returns false when it wants no more, because a bound was reached.
class MatchSink {
 public:
  virtual ~MatchSink() = default;
  virtual bool Add(Match match) = 0;
  // Told that there may be matches that are not added, because a search would take too long.
  virtual void NoteCut() {}
};

struct Program;

// At which e-nodes a rule that is no pattern is searched: those of some kinds, or all.
struct Anchors {
  bool of_any_kind = false;
  std::vector<KindId> kinds;
};

class Rule {
 public:
  virtual ~Rule() = default;

  // Stable and unique, lower-case with dashes: "conv-merge". Rules are disabled by this name.
  virtual const std::string& name() const = 0;
  // The equation for people to read: "Relu(Concat(x, y)) = Concat(Relu(x), Relu(y))".
  virtual const std::string& equation() const = 0;

  // The text that the rule was compiled from, without its name. Empty if it was written by hand.
  virtual std::string text() const { return {}; }

  // The compiled pattern, if the rule is nothing but that: its matches are those of the pattern,
  // and applying one builds the right sides and unites.
  virtual const Program* program() const { return nullptr; }
  // The compiled patterns, if the rule's matches are those of one or more patterns, its
  // alternatives. Such rules can be matched together and incrementally (matcher.h).
  virtual std::vector<const Program*> programs() const {
    if (program() == nullptr) return {};
    return {program()};
  }
  // If not null, the rule is no pattern and can be searched around what has changed (SearchAt).
  virtual const Anchors* anchors() const { return nullptr; }

  // Of Match::ops of a match of this rule, the first so many are operator words, and the others are
  // numbers.
  virtual size_t NumWords(const Match& match) const { return match.ops.size(); }

  // Reports all matches in a clean graph, in a deterministic order.
  virtual void Search(const EGraph& graph, MatchSink& sink) const = 0;
  // For rules with anchors: reports the matches around these live e-nodes of their kinds. A match
  // may appear around an e-node only because this e-node changed, or a member of the class of one
  // of its children, or an e-node that has its class as a child. (The change of a class's data
  // counts as one of its members and its parents: see Analysis::TakeChanged.)
  virtual void SearchAt(const EGraph& graph, std::span<const ENodeId> /*anchors*/,
                        MatchSink& sink) const {
    Search(graph, sink);
  }

  // Adds the right sides of one match and unites them with their left sides; returns whether the
  // graph changed. Classes may have been merged since the match was found. If a right side is
  // ill-typed the rule does not apply: it returns false, and may leave e-nodes behind, which do no
  // harm.
  virtual absl::StatusOr<bool> Apply(EGraph& graph, const Match& match, Origin origin) const = 0;

  // As SearchAt, for whoever knows the classes of a match. A rule whose search chooses among
  // several matches reports all of those that are right and have exactly these classes, whether it
  // would choose them or not: what it chooses depends on all that is in the graph.
  virtual void SearchForClasses(const EGraph& graph, std::span<const ENodeId> anchors,
                                std::span<const ClassId> /*classes*/, MatchSink& sink) const {
    SearchAt(graph, anchors, sink);
  }
};

}  // namespace quotient::egraph
