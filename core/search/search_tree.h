#pragma once

// SearchTree: what a tree search knows of the states that it has seen, and which it wants to see
// next. A state that is come to in several ways is one node: a graph search (transpositions). What
// leads on from a state, and which state it is, takes much longer to find out than what it is
// worth, so nodes are opened only when the search goes on from them.
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
  // Edges of a node that are to be tried, and how to come there from the root.
  struct Leaf {
    std::vector<NodeId> nodes;    // from the root to the node
    std::vector<uint32_t> edges;  // of each of them but the last: to the next one
    std::vector<Action> path;     // what they are
    uint32_t first_edge = 0;      // of the node: those to try
    std::vector<Action> tries;    // what those are
    // If the node is to be opened: whoever comes there asks Knows, and if not takes `tries` out of
    // the actions by these priors.
    std::optional<Priors> priors;
    int64_t as_of = 0;
    int64_t way = 0;  // how many e-nodes it takes to come there from the root
  };
  // What there is to know of a state from which a search goes on.
  struct Opened {
    uint64_t hash = 0;
    std::vector<Action> actions;  // those that are not among the tries
  };

  // Borrows the priors.
  explicit SearchTree(Priors* priors) : priors_(*priors) {}

  // Begins anew at a state.
  void Reset(const State& root, const Opened& opened);
  // Of those that were never opened some may be the same.
  size_t num_states() const { return nodes_.size() - num_duplicates_; }
  // Of a state elsewhere that growing to the limit has led to: DESIGN.md says why.
  void CountGrown(const State& state) { grown_ += state.enodes; }
  // Nothing is left to try.
  bool exhausted() const { return nodes_[root_.value()].exhausted; }

  // What to try next, counted as under way until Observe. There is nothing if the rest of what can
  // be tried is under way.
  bool Select(Leaf* leaf);
  // Whether a state of that hash was open when the leaf was selected; there is nothing to try in it
  // then.
  bool Knows(uint64_t hash, const Leaf& leaf) const;
  // Moves the most promising actions to `tries`.
  static void TakeTries(Opened& opened, Leaf& leaf);
  // What those edges lead to. `opened` counts if the node was to be opened.
  void Observe(const Leaf& leaf, const Opened& opened, std::span<const State> states);

  // For checkpoints (tree_record.cc). What had been selected and was not observed has to be taken
  // up after reading: fills in what the edges tell of a leaf, or returns false if there is none.
  // What is read is of as many rules as the priors.
  void Write(FieldWriter& stream) const;
  void Read(FieldReader& stream);
  bool TakeUp(Leaf* leaf);

  // All states cost what `cost_of` says of their bills; those without one what they did. None is
  // left to cost more than the root, whose best graph is in all of them. What is best below them
  // follows, and what actions have brought.
  void Reprice(absl::FunctionRef<double(BillId)> cost_of);

  double root_cost() const { return nodes_[root_.value()].cost; }
  // Of the whole tree.
  double best_cost() const { return best_cost_; }
  // Of the states that can be come to from an open one, by its hash, and of itself.
  double BestBelow(uint64_t hash) const { return nodes_[node_of_state_.at(hash).value()].best; }

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
    int64_t enodes = 0;
    double best = 0;  // of the states here and below
    BillId bill;      // in no checkpoint
    uint32_t visits = 0;
    uint32_t batches = 0;   // of tries that were begun
    int64_t opened_at = 0;  // as Leaf::as_of; 0: not yet
    bool exhausted = false;
    bool opening = false;         // is under way
    bool busy = false;            // what there is to try below is under way
    std::vector<Action> untried;  // not among the edges yet
    std::vector<Edge> edges;
  };

  NodeId MakeNode(const State& state);
  NodeId Open(const Leaf& leaf, const Opened& opened);
  void AddEdges(Node& node, const std::vector<Action>& tries);
  void Attach(NodeId tried, uint32_t edge, const State& state);
  // Leads nowhere else, or to where nothing is left to try.
  bool Finished(const Edge& edge) const {
    return edge.nowhere || (edge.child.valid() && nodes_[edge.child.value()].exhausted);
  }
  bool SelectLeaf(bool may_grow, Leaf* leaf);
  void FreeBusy();
  static bool HasTries(const Node& node, bool may_grow);
  bool MayWiden(const Node& node, bool may_grow) const;
  void Begin(const Leaf& leaf);
  void UpdateExhausted(Node& node);
  void CorrectPriors(double sign);
  void FindBest();
  uint32_t BestEdge(const Node& node) const;
  double Quality(double cost) const;
  int64_t WayTo(const Node& node) const;
  template <typename Stream, typename TheNode>
  static void VisitNode(Stream& stream, TheNode& node, size_t num_rules);
  bool IndexWhatWasRead(const std::vector<uint64_t>& hashes);

  Priors& priors_;
  NodeId root_;
  std::vector<Node> nodes_;
  absl::flat_hash_map<uint64_t, NodeId> node_of_state_;  // open ones
  double best_cost_ = 0;
  int64_t now_ = 1;  // leaves observed, and one
  size_t num_duplicates_ = 0;
  int64_t num_under_way_ = 0;
  std::vector<NodeId> busy_;
  // E-nodes of the states that actions have led to, of all trees: of growing to the limit, which
  // takes long, and of the others. It must not take more than these.
  int64_t grown_ = 0;
  int64_t stepped_ = 0;
};

}  // namespace quotient::search
