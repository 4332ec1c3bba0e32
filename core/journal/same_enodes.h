#pragma once

// SameENodes: finds the e-nodes of one e-graph in another one of the same model, by what they are.

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/rule.h"

namespace quotient::journal {

// The e-nodes of an e-graph, each with an operator word and with e-nodes that stand for the classes
// of its children. Children are older.
struct ENodeTable {
  void Add(egraph::OpId op, std::span<const egraph::ENodeId> children);
  uint32_t size() const { return static_cast<uint32_t>(ops.size()); }
  std::span<const egraph::ENodeId> ChildrenOf(egraph::ENodeId enode) const {
    const size_t first = enode.value() == 0 ? 0 : ends[enode.value() - 1];
    return std::span(children).subspan(first, ends[enode.value()] - first);
  }

  std::vector<egraph::OpId> ops;
  std::vector<size_t> ends;  // By e-node: where its children end in `children`.
  std::vector<egraph::ENodeId> children;
};

// The e-nodes of an e-graph that records proofs, as they were added.
ENodeTable AsAdded(const egraph::EGraph& graph);

// One thread.
class SameENodes {
 public:
  // Borrows all. The first `originals` e-nodes are those of the model, in both e-graphs. `from` may
  // grow, and so may `to`.
  SameENodes(const ENodeTable& from, const domain::TensorDomain& from_domain,
             const domain::TensorEGraph& to, uint32_t originals)
      : from_(from), from_domain_(from_domain), to_(to), originals_(originals) {}

  // The e-node of `to` that is the same, or one that was found to be a duplicate of that. NOT_FOUND
  // if there is none. `to` must be clean.
  absl::StatusOr<egraph::ENodeId> Find(egraph::ENodeId enode);
  // As Find, but the e-node is live.
  absl::StatusOr<egraph::ENodeId> FindLive(egraph::ENodeId enode);
  // The same match of the same rule. Its classes have the numbers of the e-nodes that they were
  // made with, in both e-graphs. NOT_FOUND if an e-node is missing, INTERNAL if the match has an
  // operator word that only a model can have.
  absl::StatusOr<egraph::Match> FindMatch(const egraph::Rule& rule, const egraph::Match& match);

 private:
  // The same operator word. INTERNAL for words of what only a model has, such as its inputs.
  absl::StatusOr<egraph::OpId> Word(egraph::OpId word) const;
  absl::StatusOr<egraph::ENodeId> LookUp(egraph::ENodeId enode) const;

  const ENodeTable& from_;
  const domain::TensorDomain& from_domain_;
  const domain::TensorEGraph& to_;
  const uint32_t originals_;
  absl::flat_hash_map<egraph::ENodeId, egraph::ENodeId> known_;
};

}  // namespace quotient::journal
