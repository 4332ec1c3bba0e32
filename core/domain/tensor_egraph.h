#pragma once

// TensorEGraph: the e-graph of one model, and the ways in and out of it.
//
//   auto tensors = FromGraph(graph, measured);
//   ... rules grow *tensors->egraph, extraction chooses an e-node per class ...
//   auto optimized = ToGraph(*tensors, choice, rules);
//
// Split becomes one Slice e-node per output (Slice along one axis is the one form of a view into a
// tensor); ToGraph makes Splits of Slices again. Nodes that cannot be looked into
// (opaque ones, those behind them whose shapes nobody knows, those whose further outputs are used)
// become opaque e-nodes: they depend on their inputs like all others, but no rule knows them.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"
#include "core/model/graph.h"

namespace quotient::domain {

// What an e-node was in the original graph.
struct OriginalRef {
  model::NodeId node;  // invalid: made by a rule
  int output = 0;      // which output of the node; of an opaque e-node itself: 0
};

struct TensorEGraph {
  model::Graph original;
  std::unique_ptr<TensorDomain> domain;
  std::unique_ptr<EGraph> egraph;
  std::vector<ClassId> roots;                  // parallel to original.outputs; not kept canonical
  std::vector<ClassId> class_of_value;         // by ValueId of `original`; invalid where dead
  std::vector<OriginalRef> original_of_enode;  // by ENodeId, for those made by FromGraph

  OriginalRef Original(ENodeId enode) const {
    return enode.value() < original_of_enode.size() ? original_of_enode[enode.value()]
                                                    : OriginalRef{};
  }
  // The roots as they are now, for extraction.
  std::vector<ClassId> CanonicalRoots() const;
};

// `measured` is the same graph (equal ids of nodes and values) with every symbol bound. Dead nodes
// stay out. `assume_finite_inputs`: see FactsOfInput. INTERNAL if the two graphs do not match.
absl::StatusOr<TensorEGraph> FromGraph(const model::Graph& graph, const model::Graph& measured,
                                       bool assume_finite_inputs = false);

// What an e-node computes and on what, for costs.
struct ENodeOperand {
  bool present = true;  // false: an optional input left out
  model::TensorType measured;
  bool weight_only = false;  // constant by the time the model runs
};
struct ENodeDescription {
  const OpWord* word;
  std::vector<ENodeOperand> inputs;
  ENodeOperand output;
  // Leaves, what folds (products of weights that take too long do not), and the projections of
  // opaque nodes: nothing runs.
  bool free = false;
};
ENodeDescription Describe(const TensorEGraph& tensors, ENodeId enode);

struct Split;

// The graph of the chosen e-nodes. `choice` is indexed by canonical ClassId and acyclic. Names:
// graph inputs and outputs and what opaque nodes capture keep theirs; so do nodes that were in the
// original; new nodes are called "<site>_quotient_<rule>", where the site is the original node that
// they stand in for. `rules` are those of the run, so that origin i + 1 is rules[i]. Subgraphs of
// constants are left for folding. The `splits` (splits.h) are of chosen Slices that the roots need,
// each of one at most; those that tile where nobody says. INTERNAL if the choice is incomplete or
// cyclic.
absl::StatusOr<model::Graph> ToGraph(const TensorEGraph& tensors, std::span<const ENodeId> choice,
                                     std::span<const egraph::Rule* const> rules,
                                     std::span<const Split> splits);
absl::StatusOr<model::Graph> ToGraph(const TensorEGraph& tensors, std::span<const ENodeId> choice,
                                     std::span<const egraph::Rule* const> rules);

// One rewrite that a choice uses, for the journal.
struct Rewrite {
  egraph::Origin origin;
  ClassId cls;         // whose value is computed another way
  std::string site;    // name of the original node that computed it, or the nearest one after
  std::string before;  // what the original node computes, as text
  std::string after;   // what does now; for a node that vanished, the value that it was equal to
  // The rules whose applications, each told once, lead from the one to the other, in order; none
  // where it is part of another rewrite.
  std::vector<egraph::Origin> steps = {};
};
// In the order of the graph, deterministic; e-nodes that one rule made together are one rewrite.
std::vector<Rewrite> RewritesOf(const TensorEGraph& tensors, std::span<const ENodeId> choice);

}  // namespace quotient::domain
