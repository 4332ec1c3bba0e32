#pragma once

// Explanations: why two terms are equal, as applications of rules.
//
//   EGraph graph(&table, &analysis);
//   graph.RecordProofs();                   // before the first Add
//   ...                                     // terms, rules, Rebuild
//   Explainer explainer(graph, rules);
//   const TermId a = explainer.TermOf(node), b = explainer.Add(op, {a});
//   if (explainer.Equal(a, b)) steps = explainer.Explain(a, b);
//
// The e-graph records little: the children each e-node was added with, unions, and matches. An
// Explainer replays that into a ProofForest, once, in time about linear in the record.
//
// A rule that is a pattern (Rule::program) is shown by the very terms that its sides are under the
// match; of other rules and of builders we know only which classes became equal, and show the terms
// with which those were made. Reference: Flatt et al., "Small proofs from congruence closure",
// FMCAD'22.

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
  Origin origin;  // rule number + 1, or kInputOrigin or kAnalysis
  bool forward;   // from left to right
  TermId before;
  TermId after;
};

// A term, and the step that made it of the one before; the step rewrites one place in it.
struct ChainLink {
  TermId whole;
  RewriteStep step;
};

// How both classes of a union that the analysis refused came to be what they are: for each the term
// it was made with, the term of the input that this is equal to, and the rules that lead there.
// One line each. `rules` as below; the graph, which may be dirty, must record proofs.
std::string RefusalText(const EGraph& graph, std::span<const Rule* const> rules,
                        const UnionRecord& refused);

class Explainer {
 public:
  // The graph must record proofs. `rules`: those whose matches were applied, by origin - 1; of
  // those that are left out only the terms of classes are shown.
  Explainer(const EGraph& graph, std::span<const Rule* const> rules);

  // The term with which an e-node was added.
  TermId TermOf(ENodeId node) const { return term_of_row_[node.value()]; }
  // The term whose e-node made a class.
  TermId TermOf(ClassId id) const { return term_of_row_[id.value()]; }
  // Any term: it may be equal to some of the graph without being in it.
  TermId Add(OpId op, std::span<const TermId> children);
  const TermTable& terms() const { return terms_; }

  bool Equal(TermId a, TermId b) const { return forest_.Equal(a, b); }

  // For equal terms: the steps that make one the other, each once even if it is needed in several
  // places, in the order in which they come first.
  std::vector<RewriteStep> Explain(TermId from, TermId to) const;

  // The first of them that rewrites a whole term, no part of one.
  std::optional<RewriteStep> FirstWholeStep(TermId from, TermId to) const;

  // The same as terms in which one place at a time is rewritten, from the one that follows `from`
  // to `to`, without coming twice to the same term. Nothing if there would be more than `max_links`
  // (shared parts are rewritten in each place of their own) or if terms are too deep to be read.
  std::optional<std::vector<ChainLink>> Chain(TermId from, TermId to, size_t max_links);

 private:
  void Replay(const EGraph& graph, std::span<const Rule* const> rules);
  std::optional<std::vector<ChainLink>> Expand(TermId from, TermId to, size_t max_links, int depth);

  TermTable terms_;
  ProofForest forest_{&terms_};
  std::vector<TermId> term_of_row_;  // by ENodeId, and by the ClassId that was made with it
};

}  // namespace quotient::egraph
