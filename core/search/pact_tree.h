#pragma once

// PactTree: the tree that the PACT'24 search builds for one commit. Hartmann, He, Yoneki,
// "Optimizing Tensor Computation Graphs with Equality Saturation and Monte Carlo Tree Search",
// PACT'24; the details as in rmcts/src/{tree,node}.rs of their repository tensor-eqs-mcts.
//
// A node is a state, its children are one per rule. A simulation goes down from the root; at each
// node it tries a rule that nobody has tried there if there is one and
//
//   - the node is the root, or none of the children tried so far leads anywhere, or
//   - a coin says so;
//
// otherwise it goes on to the child of greatest
//
//   Q_a / K_a + c sqrt(2 ln N / N_a)     WU-UCT: Liu et al., "Watch the unobserved", ICLR'20
//
// where N_a counts the visits of the child, those under way included, K_a those that came back, Q_a
// sums up what they returned and N is the sum of the N_a. One worker, as theirs is in effect, finds
// N_a = K_a whenever it looks.
//
// Not thread-safe.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/rng.h"

namespace quotient::search {

// Defaults as published. Their node limit is 2,000; ours is the task's.
struct PactParameters {
  int simulations_per_commit = 128;
  int max_commits = 200;
  double gamma = 0.99;       // what a reward is worth a step earlier
  int max_sim_step = 10;     // looked at after the step: a rollout has one more
  double exploration = 2;    // c
  double expand_coin = 0.5;  // probability
  double good_enough = 0.1;  // a cost below ends the search; theirs are in ms
};

// What its decision process knows of a state.
struct PactState {
  double cost = 0;
  bool changed = true;  // by the step that led to it; if not, the state is the one before
  bool done = false;    // no step leads further
  // Steps in a row that changed nothing, and rules that have nothing to do: when there are as many
  // as rules, that is taken for the end.
  int idle = 0;
};

class PactTree {
 public:
  using NodeId = StrongId<struct PactNodeTag>;

  // A rule of a node and what came of it.
  struct Child {
    // Not to be tried (again): it has no match in the node's state, or changes nothing.
    bool saturated = false;
    double reward = 0;
    bool done = false;
    NodeId node;             // invalid: not tried
    int64_t dispatched = 0;  // N_a
    int64_t completed = 0;   // K_a
    double returns = 0;      // Q_a
  };
  // From the root: the rule taken at each node.
  struct Way {
    std::vector<NodeId> nodes;
    std::vector<uint16_t> rules;
  };
  enum class Descent {
    kExpand,   // the last rule of the way is to be tried
    kDone,     // it leads to a state that is done
    kNothing,  // there is nothing to try where it came to: the search for this commit is over
  };

  // Borrows both.
  PactTree(const PactParameters* parameters, Rng* rng) : parameters_(*parameters), rng_(*rng) {}

  // Begins anew. `open`: by rule, whether it has anything to do in this state.
  void Reset(const PactState& root, const std::vector<bool>& open);
  // But for kNothing a visit under way until Complete.
  Descent Select(Way* way);
  // What the last rule of the way leads to, and the reward of that step.
  void Expand(const Way& way, const PactState& state, double reward, const std::vector<bool>& open);
  // The visit comes back with this value of the state at its end.
  void Complete(const Way& way, double value);

  // The rule of greatest Q_a / K_a at the root, the first of equal ones; none if none that was
  // tried leads anywhere.
  std::optional<uint16_t> BestRule() const { return BestRule(nodes_[0], 0); }

  const PactState& state(NodeId id) const { return nodes_[id.value()].state; }
  const Child& child(NodeId id, uint16_t rule) const { return nodes_[id.value()].children[rule]; }

  // `visits`: N.
  static double Score(const Child& child, int64_t visits, double exploration);

 private:
  struct Node {
    PactState state;
    int64_t visits = 0;           // N
    std::vector<Child> children;  // by rule
  };

  NodeId AddNode(const PactState& state, const std::vector<bool>& open);
  static bool LeadsOn(const Child& child) { return child.completed > 0 && !child.saturated; }
  std::optional<uint16_t> RuleToTry(const Node& node, bool is_root);
  std::optional<uint16_t> BestRule(const Node& node, double exploration) const;

  const PactParameters& parameters_;
  Rng& rng_;
  std::vector<Node> nodes_;  // the root first
};

}  // namespace quotient::search
