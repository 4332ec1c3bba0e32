#pragma once

// How near a pattern comes to matching at some e-nodes: for a user who asks why a rule was not
// applied there. The machine is the one that finds matches (pattern_machine.h); here it passes by
// guards that refuse, and remembers how far it came.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/stop.h"
#include "core/egraph/egraph.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_program.h"
#include "core/egraph/rule.h"

namespace quotient::egraph {

// A guard that refuses. The arguments are in the order of the text; lists are copied.
struct RefusedGuard {
  uint32_t guard = 0;  // Index in Program::guards and RuleText::guards.
  struct Argument {
    ClassId id;
    OpId op;
    std::vector<ClassId> list;
  };
  std::vector<Argument> arguments;
};

// A part of a pattern that was found at an e-node, and what kept it from being a whole match.
struct NearMatch {
  // A term of the pattern, and the e-node that it was found at.
  struct Found {
    const Term* term;
    ENodeId enode;
  };

  const Program* program = nullptr;
  std::vector<Found> found;  // In the order of the search; the first is the one asked about.
  size_t steps = 0;          // How many steps of the search fitted.
  // If a part was not found: what was looked for when the search came furthest.
  struct Missing {
    Instruction step;
    const Term* term = nullptr;
    // kScan: the class of the e-node asked about, which has the operator but not the attributes or
    // the number of operands. kDown: the class that should have such an e-node. kUp: the class that
    // such an e-node should have as an operand. kSameClass: one class.
    ClassId in;
    ClassId other;  // kSameClass: the other class, which should have been the same.
    OpId op;        // The operator word that it must have, if the pattern fixes it.
  };
  std::optional<Missing> missing;
  // If nothing is missing: the match that the pattern would have, and the guards that refuse it. If
  // none does, it is a match.
  Match match;
  std::vector<RefusedGuard> refused;

  bool is_match() const { return !missing.has_value() && refused.empty(); }
};

struct NearMatches {
  // The matches in which one of the e-nodes takes part in the left side, at most kMostMatches.
  static constexpr size_t kMostMatches = 64;
  std::vector<Match> matches;
  // If there are none: what came nearest, that is, with the most e-nodes of the pattern, then with
  // the fewest guards that refuse, then after the most steps. Of equals the first. Nullopt if no
  // e-node of the pattern has the operator of any of these e-nodes.
  std::optional<NearMatch> nearest;
  // Whether the search was given up, because there are more matches or too many ways to look, or
  // because it was stopped.
  bool cut_short = false;
};

// Looks for the pattern in a clean graph, with each of the live `enodes` for each e-node of the
// left side. A pattern with a root that is only a variable is never found. Takes a second or so at
// most, and less where `stop` fires; what was found by then is returned.
NearMatches FindNearMatches(const Program& program, const EGraph& graph,
                            std::span<const ENodeId> enodes, const StopCondition& stop);

// Whether `a` came nearer than `b`.
bool IsNearer(const NearMatch& a, const NearMatch& b);

}  // namespace quotient::egraph
