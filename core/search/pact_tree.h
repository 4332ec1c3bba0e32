#pragma once

// PactTree: the tree that the PACT'24 search builds for one commit. Hartmann, He, Yoneki,
// "Optimizing Tensor Computation Graphs with Equality Saturation and Monte Carlo Tree Search",
// PACT'24. Details follow rmcts/src/{tree,node}.rs of their repository tensor-eqs-mcts.
//
// A node is a state, with one child per rule. A simulation descends from the root. At each node it
// tries a random untried rule if there is one and
//
//   - the node is the root, or no child tried so far leads anywhere, or
//   - a coin flip says so;
//
// otherwise it descends to the child with the greatest
//
//   Q_a / K_a + c sqrt(2 ln N / N_a)     WU-UCT: Liu et al., "Watch the unobserved", ICLR'20
//
// where N_a counts the visits of the child, including those under way, K_a the completed ones, Q_a
// is the sum of their returns, and N the sum of the N_a. With one worker, as in effect in their
// code, N_a = K_a at every decision.
//
// Not thread-safe.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/rng.h"

namespace quotient::search {

// Defaults as published, for costs in microseconds. Their node limit is 2,000; here it is the
// task's.
struct PactParameters {
  int simulations_per_commit = 128;
  int max_commits = 200;
  double gamma = 0.99;  // Discount of rewards per step.
  // Checked after the step, so a rollout takes one step more.
  int max_sim_step = 10;
  // The c of the formula, in units of cost: theirs is 2 ms. For sizes of terms, MCTS-GEB has 2.
  double exploration = 2'000;
  double expand_coin = 0.5;  // Probability of trying an untried rule.
};

// A state of the decision process.
struct PactState {
  double cost = 0;
  // Whether the step that led here changed anything.
  bool changed = true;
  bool done = false;  // Whether the episode ends here.
  // Number of steps in a row that changed nothing, plus the rules that have no match. When it
  // reaches the number of rules, the episode ends.
  int idle = 0;
};

class PactTree {
 public:
  using NodeId = StrongId<struct PactNodeTag>;

  // A rule of a node, and its statistics.
  struct Child {
    // Whether it must not be tried (again), because it has no match in the node's state or changes
    // nothing.
    bool saturated = false;
    double reward = 0;
    bool done = false;
    NodeId node;             // Invalid until the rule is tried.
    int64_t dispatched = 0;  // N_a
    int64_t completed = 0;   // K_a
    double returns = 0;      // Q_a
  };
  // A path from the root: the nodes, and the rule that is taken at each of them.
  struct Path {
    std::vector<NodeId> nodes;
    std::vector<uint16_t> rules;
  };
  enum class Descent {
    kExpand,  // The last rule of the path is to be tried.
    kDone,    // The last rule leads to a state that is done.
    // The node reached has nothing to try: the search for this commit is over.
    kNothing,
  };

  // Borrows both.
  PactTree(const PactParameters* parameters, Rng* rng) : parameters_(*parameters), rng_(*rng) {}

  // Discards the tree and starts a new one. `open`: by rule, whether it has a match in the root.
  void Reset(const PactState& root, const std::vector<bool>& open);
  // Descends from the root. The visit is under way until Complete, unless the result is kNothing.
  Descent Select(Path* path);
  // Adds the state that the last rule of the path leads to, with the reward of that step.
  void Expand(const Path& path, const PactState& state, double reward,
              const std::vector<bool>& open);
  // Completes the visit; `value` is that of the state at the end of the path.
  void Complete(const Path& path, double value);

  // The rule of greatest Q_a / K_a at the root, the first among equals; none if no rule that was
  // tried leads anywhere.
  std::optional<uint16_t> BestRule() const { return BestRule(nodes_[0], 0); }

  const PactState& state(NodeId id) const { return nodes_[id.value()].state; }
  const Child& child(NodeId id, uint16_t rule) const { return nodes_[id.value()].children[rule]; }

  // The formula above; `visits` is N.
  static double Score(const Child& child, int64_t visits, double exploration);

 private:
  struct Node {
    PactState state;
    int64_t visits = 0;           // N
    std::vector<Child> children;  // One per rule.
  };

  NodeId AddNode(const PactState& state, const std::vector<bool>& open);
  static bool HasSuccessor(const Child& child) { return child.completed > 0 && !child.saturated; }
  std::optional<uint16_t> RuleToTry(const Node& node, bool is_root);
  std::optional<uint16_t> BestRule(const Node& node, double exploration) const;

  const PactParameters& parameters_;
  Rng& rng_;
  std::vector<Node> nodes_;  // The root is the first.
};

}  // namespace quotient::search
