#pragma once

// SearchTree: the states that a tree search has seen, and the choice of what to try next. A state
// that can be reached in several ways is one node, as in a graph search with transpositions.
// Identifying a state and listing its actions take much longer than valuing it. Nodes are therefore
// created with their cost alone, and opened only when the search goes on from them.
//
// A selection descends from the root. At each node it takes the edge with the greatest
//
//   Q + c P sqrt(N) / (1 + n)            PUCT: Silver et al., Nature 550, 2017
//
// until it reaches a node that may have more edges than it has (progressive widening: Coulom,
// "Computing Elo ratings of move patterns", 2007). A batch of new edges is then tried there
// together, since going there costs more than a step. P is the prior of the edge; N and n count the
// visits of the node and of the edge, including those under way (unobserved samples: Liu et al.,
// "Watch the unobserved", ICLR'20). Q, from 0 to 1, is how far the best cost below the edge has
// come from the root's cost to the best known one. It is the best cost and not the mean, since
// nothing on the way is random and one good state is enough.
//
// Not thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "core/base/ids.h"
#include "core/search/priors.h"
#include "core/search/walk.h"

namespace quotient::search {

class FieldReader;
class FieldWriter;

class SearchTree {
 public:
  using NodeId = StrongId<struct TreeNodeTag>;
  // What a simulation has to try: a batch of actions at a node, and the path there from the root.
  struct Leaf {
    std::vector<NodeId> nodes;    // From the root to the node.
    std::vector<uint32_t> edges;  // For each node but the last, the edge to the next node.
    std::vector<Action> path;     // The actions of these edges.
    // Index of the first edge to try at the node.
    uint32_t first_edge = 0;
    std::vector<Action> tries;  // The actions to try.
    // The priors at the selection, present only if the node is to be opened. A worker that reaches
    // the node opens it unless Knows finds the state in the tree: it lists the state's actions and
    // moves the most promising ones, by these priors, to `tries` (SelectTries).
    std::optional<Priors> priors;
    // Value of now_ at the selection.
    int64_t as_of = 0;
    // By how many e-nodes the node's state is larger than the root's.
    int64_t added_enodes = 0;
    // What was known of the cost of the node's state at the selection.
    double cost = 0;
    BillId bill;
  };
  // What is found out about a state when its node is opened.
  struct Opened {
    uint64_t hash = 0;
    // Actions, without those that were moved to Leaf::tries.
    std::vector<Action> actions;
  };

  // Borrows the priors.
  explicit SearchTree(Priors* priors) : priors_(*priors) {}

  // Discards the tree and starts a new one from a state.
  void Reset(const State& root, const Opened& opened);
  // Number of different states. Unopened nodes count as different, although some may be equal.
  size_t num_states() const { return nodes_.size() - num_duplicates_; }
  // Counts the e-nodes of a state that growing to the limit has led to outside of the tree. Growth
  // is balanced against other actions by this count; see DESIGN.md.
  void CountGrown(const State& state) { grown_ += state.enodes; }
  // Whether nothing is left to try.
  bool exhausted() const { return nodes_[root_.value()].exhausted; }

  // Selects what to try next, which counts as under way until Observe. False if everything that can
  // be tried is under way.
  bool Select(Leaf* leaf);
  // Whether a state with this hash was open when the leaf was selected. If so, the leaf's node is a
  // duplicate of it, and there is nothing to try.
  bool Knows(uint64_t hash, const Leaf& leaf) const;
  // Moves the most promising actions from `opened` to the leaf's tries, by the leaf's priors.
  static void SelectTries(Opened& opened, Leaf& leaf);
  // Adds the states that the leaf's tries lead to. `opened` is used if the node was to be opened.
  void Observe(const Leaf& leaf, const Opened& opened, std::span<const State> states);

  // For checkpoints (tree_record.cc). Read expects the same number of rules. After Read,
  // RestoreLeaf must be called for each leaf that had been selected and not observed: it restores
  // the leaf's path from its edges, or returns false if they do not fit the tree.
  void Write(FieldWriter& stream) const;
  void Read(FieldReader& stream);
  bool RestoreLeaf(Leaf* leaf);

  // Sets the cost of each state to `cost_of(bill)`; states without a bill keep theirs. No state is
  // left to cost more than the root, whose best graph is contained in all of them. The best costs
  // below nodes and the priors are updated accordingly.
  void Reprice(absl::FunctionRef<double(BillId)> cost_of);

  double root_cost() const { return nodes_[root_.value()].cost; }
  // The least cost in the tree.
  double best_cost() const { return best_cost_; }

 private:
  friend class SearchTreePeer;  // tests/support

  struct Edge {
    Action action;
    float prior = 0;  // Its prior when it was tried.
    uint32_t visits = 0;
    uint32_t under_way = 0;
    NodeId child;               // Invalid until the result arrives.
    bool is_self_loop = false;  // Whether it leads to no other state.
  };
  struct Node {
    double cost = 0;
    int64_t enodes = 0;
    // Least cost of this state and those below.
    double best = 0;
    BillId bill;  // Not stored in checkpoints.
    uint32_t visits = 0;
    uint32_t batches = 0;  // Number of batches tried so far.
    // Value of now_ when the node was opened; 0 if it was not.
    int64_t opened_at = 0;
    bool exhausted = false;
    bool opening = false;  // Whether opening it is under way.
    // Whether everything left to try below is under way.
    bool busy = false;
    std::vector<Action> untried;  // Actions without an edge.
    std::vector<Edge> edges;
    // The nodes with an edge to this one, once per edge. Not stored in checkpoints.
    std::vector<NodeId> parents;
  };

  NodeId MakeNode(const State& state);
  void DescribeLeaf(const Node& node, Leaf* leaf) const;
  NodeId Open(const Leaf& leaf, const Opened& opened);
  void AddEdges(Node& node, const std::vector<Action>& tries);
  void Attach(NodeId tried, uint32_t edge, const State& state);
  void Connect(NodeId parent, uint32_t edge, NodeId child);
  void LowerBest(NodeId id, double best);
  // Whether the edge leads to no other state, or to one where nothing is left to try.
  bool Finished(const Edge& edge) const {
    return edge.is_self_loop || (edge.child.valid() && nodes_[edge.child.value()].exhausted);
  }
  bool SelectLeaf(bool may_grow, Leaf* leaf);
  void ClearBusy();
  static bool HasTries(const Node& node, bool may_grow);
  bool MayWiden(const Node& node, bool may_grow) const;
  void MarkUnderWay(const Leaf& leaf);
  void UpdateExhausted(Node& node);
  void CorrectPriors(double sign);
  void FindBest();
  uint32_t BestEdge(const Node& node) const;
  double Quality(double cost) const;
  int64_t AddedENodes(const Node& node) const;
  template <typename Stream, typename TheNode>
  static void VisitNode(Stream& stream, TheNode& node, size_t num_rules);
  bool BuildIndices(const std::vector<uint64_t>& hashes);

  Priors& priors_;
  NodeId root_;
  std::vector<Node> nodes_;
  absl::flat_hash_map<uint64_t, NodeId> node_of_state_;  // Open states, by their hash.
  double best_cost_ = 0;
  int64_t now_ = 1;  // One more than the number of leaves observed in all trees.
  size_t num_duplicates_ = 0;
  int64_t num_under_way_ = 0;
  std::vector<NodeId> busy_;
  // Total e-nodes of the states reached in all trees, by growing to the limit and by other actions.
  // Growing takes long, so it is tried only while grown_ < stepped_, or when nothing else is left.
  int64_t grown_ = 0;
  int64_t stepped_ = 0;
};

}  // namespace quotient::search
