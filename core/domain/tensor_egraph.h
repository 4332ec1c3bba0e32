#pragma once

// TensorEGraph: the e-graph of one model, and the conversions from and to graphs.
//
//   auto tensors = FromGraph(graph, measured);
//   ... rules grow *tensors->egraph, extraction chooses an e-node per class ...
//   auto optimized = ToGraph(*tensors, choice, rules);
//
// FromGraph turns a Split into one Slice e-node per output (a Slice along one axis is the only kind
// of view), and ToGraph combines Slices into Splits again. Some nodes become opaque e-nodes, which
// no rule knows but which depend on their inputs like all others: opaque nodes of the graph, nodes
// behind them whose shapes are unknown, and nodes of which more than the first output is used.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"
#include "core/model/graph.h"

namespace quotient::domain {

// The output of the original graph that an e-node stands for.
struct OriginalRef {
  model::NodeId node;  // Invalid if a rule made the e-node.
  int output = 0;      // Output of the node; 0 for an opaque e-node itself.
};

struct TensorEGraph {
  model::Graph original;
  std::unique_ptr<TensorDomain> domain;
  std::unique_ptr<EGraph> egraph;
  std::vector<ClassId> roots;                  // Parallel to original.outputs; not kept canonical.
  std::vector<ClassId> class_of_value;         // By ValueId of `original`; invalid where dead.
  std::vector<OriginalRef> original_of_enode;  // By ENodeId, for those made by FromGraph.

  OriginalRef Original(ENodeId enode) const {
    return enode.value() < original_of_enode.size() ? original_of_enode[enode.value()]
                                                    : OriginalRef{};
  }
  // The canonical classes of the roots at this time.
  std::vector<ClassId> CanonicalRoots() const;
};

// `measured` is the same graph (with equal ids of nodes and values) with every symbol bound. Dead
// nodes are left out. `assume_finite_inputs` and `other`: see TensorDomain. Fails with INTERNAL if
// the two graphs do not match.
absl::StatusOr<TensorEGraph> FromGraph(const model::Graph& graph, const model::Graph& measured,
                                       bool assume_finite_inputs = false,
                                       const TensorDomain* other = nullptr);

// What an e-node computes, and on which operands. Costs are computed from this.
struct ENodeOperand {
  bool present = true;  // False for an optional input left out.
  model::TensorType measured;
  bool constant = false;  // By the time the model runs.
};
struct ENodeDescription {
  const OpWord* word;
  std::vector<ENodeOperand> inputs;
  ENodeOperand output;
  // Nothing runs: a leaf, a projection of an opaque node, or an operator that folds. Operators that
  // take too long to fold are not free.
  bool free = false;
};
ENodeDescription Describe(const TensorEGraph& tensors, ENodeId enode);

struct Split;

// Which values of the original and of a graph that was made from its e-graph are equal, by their
// names. All values of a class share one name: that of the original's first value in the class, or
// that of the new graph's value if the original has none there.
struct EqualNames {
  absl::flat_hash_map<std::string, std::string> shared;  // A name that is missing is shared itself.
  std::vector<std::string> of_class;  // By canonical ClassId; empty where no graph has a value.
};

// Builds the graph of the chosen e-nodes. `choice` is indexed by canonical ClassId and must be
// acyclic. Graph inputs and outputs, values captured by opaque nodes, and nodes of the original
// keep their names; a new node is called "<site>_quotient_<rule>", where the site is the original
// node that it replaces. `rules` are those of the run: origin i + 1 is rules[i]. Subgraphs of
// constants are left for folding. `splits` (splits.h) combine chosen Slices that the roots need,
// each in at most one; without them, Slices that tile their axis are combined. Fills in `names`
// unless it is null. Fails with INTERNAL if the choice is incomplete or cyclic.
absl::StatusOr<model::Graph> ToGraph(const TensorEGraph& tensors, std::span<const ENodeId> choice,
                                     std::span<const egraph::Rule* const> rules,
                                     std::span<const Split> splits, EqualNames* names = nullptr);
absl::StatusOr<model::Graph> ToGraph(const TensorEGraph& tensors, std::span<const ENodeId> choice,
                                     std::span<const egraph::Rule* const> rules);

// One rewrite that a choice uses, for the journal.
struct Rewrite {
  egraph::Origin origin;
  // The classes that are computed in another way: first the one that `site` computed, then those of
  // further e-nodes that the same rule made for it, and of constants that fold into it.
  std::vector<ClassId> classes;
  std::string site;    // Original node that computed it, or the nearest one after it.
  std::string before;  // What the original node computes, as text.
  std::string after;   // What replaces it: a term, or for a vanished node the equal value.
  // The rules whose applications lead from `before` to `after`, in order, each listed once. Empty
  // if this is part of another rewrite.
  std::vector<egraph::Origin> steps = {};
};
// Lists the rewrites in graph order; deterministic. E-nodes that one rule made together are one
// rewrite.
std::vector<Rewrite> RewritesOf(const TensorEGraph& tensors, std::span<const ENodeId> choice);

}  // namespace quotient::domain
