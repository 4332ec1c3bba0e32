#pragma once

// SuccessiveTrees: the trees that a search grows one after another from the same initial state, of
// which only the last is kept. A new one starts when the search is stuck, when the tree has become
// too large, or when everything has been tried and there are more places to try. What was learned
// about actions (priors.h) stays. Not thread-safe.

#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "core/search/checkpoint.h"
#include "core/search/priors.h"
#include "core/search/search_tree.h"
#include "core/search/walk.h"

namespace quotient::search {

class SuccessiveTrees {
 public:
  // A tree in which a search is stuck is given up after this many simulations without an
  // improvement, plus as many as the search had run at the last improvement.
  static constexpr int64_t kPatience = 2'000;

  // The initial state, and what can be tried there: at first whole rules, and places of the rules
  // that the matcher indexes; when those are exhausted, also places of the others.
  struct Root {
    State state;
    SearchTree::Opened opened;
    SearchTree::Opened opened_with_places;
  };

  SuccessiveTrees(size_t num_rules, uint64_t seed) : priors_(num_rules, seed), tree_(&priors_) {}

  // --- Starting trees. `simulations` is the number of simulations that the search has run so far.

  // Must be called before a tree is started.
  void SetRoot(Root root) { root_ = std::move(root); }
  // Starts the first tree.
  void Begin() { tree_.Reset(root_.state, opened()); }
  // Starts a new tree.
  void Restart(int64_t simulations);
  // Starts a new tree, with other factors of the priors, if the search is stuck or the tree is
  // full. Returns whether it did. `last_improvement`: the number of simulations at that time.
  bool RestartIfStuck(int64_t simulations, int64_t last_improvement);
  // Starts a new tree that also tries places of rules that are more than a pattern. Returns false
  // if the present one does so already.
  bool TryPlaces(int64_t simulations);

  // --- The present tree

  SearchTree& tree() { return tree_; }
  const SearchTree& tree() const { return tree_; }
  const Priors& priors() const { return priors_; }
  const State& root() const { return root_.state; }
  // Which single matches the tree tries as actions.
  Walk::Places places() const { return places_; }
  // How many trees were before it. Results of simulations that belong to another tree are of no
  // use.
  int64_t number() const { return num_restarts_; }
  // Number of states in all trees.
  int64_t num_states() const { return num_states_ + static_cast<int64_t>(tree_.num_states()); }

  // Sets the costs of the root and of the tree's states to `cost_of(bill)`; see
  // SearchTree::Reprice.
  void Reprice(absl::FunctionRef<double(BillId)> cost_of);

  // --- For checkpoints, which do not store the root

  template <typename Stream>
  void VisitCounts(Stream& stream) {
    stream.Number(num_restarts_, kMostCounted);
    stream.Number(last_restart_, kMostCounted);
    bool with_places = places_ == Walk::Places::kOfAllRules;
    stream.Number(with_places, 1);
    if (with_places) places_ = Walk::Places::kOfAllRules;
    stream.Number(num_states_, kMostCounted);
  }
  template <typename Stream>
  void VisitTree(Stream& stream) {
    stream.Part(priors_);
    stream.Part(tree_);
  }

 private:
  const SearchTree::Opened& opened() const {
    return places_ == Walk::Places::kOfAllRules ? root_.opened_with_places : root_.opened;
  }

  Root root_;
  Priors priors_;
  SearchTree tree_;
  Walk::Places places_ = Walk::Places::kOfPatterns;
  // Number of trees before the present one, and number of states in them.
  int64_t num_restarts_ = 0;
  int64_t num_states_ = 0;
  // Number of simulations when the present tree was started.
  int64_t last_restart_ = 0;
};

}  // namespace quotient::search
