#pragma once

// Explains why two terms are equal, as a list of rule applications.
//
//   EGraph graph(&table, &analysis);
//   graph.RecordProofs();                   // before the first Add
//   ...                                     // terms, rules, Rebuild
//   Explainer explainer(graph, rules);
//   const TermId a = explainer.TermOf(node), b = explainer.Add(op, {a});
//   if (explainer.Equal(a, b)) steps = explainer.Explain(a, b);
//
// The e-graph records little: the children each e-node was added with, the unions, and the matches.
// An Explainer replays that once into a ProofForest, in roughly linear time.
//
// For a rule that is a pattern (Rule::program) the explanation shows both of its sides under the
// match. For other rules and for builders only the classes that became equal are known, and the
// explanation shows the terms with which these were made.
//
// Reference: Flatt et al., "Small proofs from congruence closure", FMCAD'22.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/egraph/egraph.h"
#include "core/egraph/proof_forest.h"
#include "core/egraph/rule.h"
#include "core/egraph/term_table.h"

namespace quotient::egraph {

// A rule's left side `before` became its right side `after`, or the other way round.
struct RewriteStep {
  Origin origin;  // Rule index + 1, kInputOrigin or kAnalysis.
  bool forward;   // Whether the left side became the right side.
  TermId before;
  TermId after;
};

// A term, and the step that rewrote one place of the previous term to make it.
struct ChainLink {
  TermId whole;
  RewriteStep step;
};

// Says how both classes of a refused union came about, in one line each: the term with which the
// class was made, the equal term of the input, and the rules that lead from one to the other.
// `rules` as below. The graph may be dirty; it must record proofs.
std::string RefusalText(const EGraph& graph, std::span<const Rule* const> rules,
                        const UnionRecord& refused);

class Explainer {
 public:
  // The graph must record proofs. `rules` are those whose matches were applied: origin i is
  // rules[i - 1]. For rules left out at the end only the terms of classes are shown.
  Explainer(const EGraph& graph, std::span<const Rule* const> rules);

  // The term with which an e-node was added.
  TermId TermOf(ENodeId node) const { return term_of_row_[node.value()]; }
  // The term of the e-node with which a class was made.
  TermId TermOf(ClassId id) const { return term_of_row_[id.value()]; }
  // Adds any term. It may be equal to terms of the graph without being in it.
  TermId Add(OpId op, std::span<const TermId> children);
  const TermTable& terms() const { return terms_; }

  bool Equal(TermId a, TermId b) const { return forest_.Equal(a, b); }

  // For equal terms: the steps that turn `from` into `to`, in order of their first use. A step is
  // listed once even if it is needed in several places.
  std::vector<RewriteStep> Explain(TermId from, TermId to) const;

  // The first of these steps that rewrites the whole term.
  std::optional<RewriteStep> FirstWholeStep(TermId from, TermId to) const;

  // Spells the steps out as terms in which one place at a time is rewritten, from the term after
  // `from` to `to`, without reaching any term twice. Returns nullopt if there would be more than
  // `max_links` (shared parts are rewritten separately in each place) or if terms are too deep.
  std::optional<std::vector<ChainLink>> Chain(TermId from, TermId to, size_t max_links);

 private:
  void Replay(const EGraph& graph, std::span<const Rule* const> rules);
  std::optional<std::vector<ChainLink>> Expand(TermId from, TermId to, size_t max_links, int depth);

  TermTable terms_;
  ProofForest forest_{&terms_};
  std::vector<TermId> term_of_row_;  // By ENodeId, and by the ClassId made with it.
};

}  // namespace quotient::egraph
