#pragma once

// SearchTree: what a tree search knows of the states that it has seen, and which it wants to see
// next. A state that is come to in several ways is one node: a graph search (transpositions).
//
// It goes down from the root: at each node to the state behind the edge of greatest
//
//   Q + c P sqrt(N) / (1 + n)            PUCT: Silver et al., Nature 550, 2017
//
// until it comes to a node of which more edges may be tried than have been (progressive widening:
// Coulom, "Computing Elo ratings of move patterns", 2007); some of them then are, together, since
// the way there costs more than a step. P is what is expected of the edge, N and n count visits of
// the node and of the edge, those under way included (unobserved samples: Liu et al., "Watch the
// unobserved", ICLR'20). Q is how far the best cost below has come from the root's cost to the best
// known one, 0 to 1: what is sought is one good state and nothing on the way there is left to
// chance, so the best counts, not the mean.
//
// Not thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/ids.h"
#include "core/search/priors.h"
#include "core/search/walk.h"

namespace quotient::search {

class SearchTree {
 public:
  using NodeId = StrongId<struct TreeNodeTag>;
  // Edges of a node that are to be tried, and how to come there from the root.
  struct Leaf {
    std::vector<NodeId> nodes;    // from the root to the node
    std::vector<uint32_t> edges;  // of each of them but the last: to the next one
    std::vector<Action> path;     // what they are
    uint32_t first_edge = 0;      // of the node: those to try
    std::vector<Action> tries;    // what those are
  };

  // Borrows the priors.
  explicit SearchTree(Priors* priors) : priors_(*priors) {}

  // Begins anew at a state.
  void Reset(const State& root);
  size_t num_states() const { return nodes_.size(); }
  // Nothing is left to try.
  bool exhausted() const { return nodes_[root_.value()].exhausted; }

  // What to try next, counted as under way until Observe. There is nothing if the rest of what can
  // be tried is under way.
  bool Select(Leaf* leaf);
  // What those edges lead to.
  void Observe(const Leaf& leaf, std::span<const State> states);

  double root_cost() const { return nodes_[root_.value()].cost; }
  // Of the whole tree.
  double best_cost() const { return best_cost_; }

 private:
  struct Edge {
    Action action;
    float prior = 0;  // as it was expected when it was tried
    uint32_t visits = 0;
    uint32_t under_way = 0;
    NodeId child;          // invalid: not tried
    bool nowhere = false;  // changes nothing
  };
  struct Node {
    double cost = 0;
    double best = 0;  // of the states here and below
    uint32_t visits = 0;
    uint32_t batches = 0;  // of tries that were begun
    bool exhausted = false;
    bool busy = false;            // what there is to try below is under way
    std::vector<Action> untried;  // not among the edges yet
    std::vector<Edge> edges;
  };

  NodeId MakeNode(const State& state);
  // Leads nowhere else, or to where nothing is left to try.
  bool Finished(const Edge& edge) const {
    return edge.nowhere || (edge.child.valid() && nodes_[edge.child.value()].exhausted);
  }
  bool MayWiden(const Node& node) const;
  void Widen(Node& node, Leaf& leaf);
  void Begin(const Leaf& leaf);
  void UpdateExhausted(Node& node);
  uint32_t BestEdge(const Node& node) const;
  double Quality(double cost) const;

  Priors& priors_;
  NodeId root_;
  std::vector<Node> nodes_;
  absl::flat_hash_map<uint64_t, NodeId> node_of_state_;
  double best_cost_ = 0;
  std::vector<NodeId> busy_;
};

}  // namespace quotient::search
