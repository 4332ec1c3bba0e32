#pragma once

// A choice for every class together with what it costs where each class is paid for once: the
// classes that the roots need are counted by their users, so that a change of one choice changes
// the cost in time proportional to the part of the graph that comes or goes. To compute a class
// of the e-graph in several places is no selection; how often that happens is counted.

#include <cstdint>
#include <span>
#include <vector>

#include "core/extract/acyclic_choice.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// Costs that differ by less, relatively, are equal: sums of what was rounded differently.
inline constexpr double kRelativeTolerance = 1e-12;

// How good a selection is: first by what it computes once too often, which nothing should be; then
// by cost. Among equal costs fewer classes are better, then fewer e-nodes that rules made: a
// rewrite that gains nothing is none.
struct Score {
  int64_t num_recomputed;
  double cost;  // exact, of costs that are rounded a little: see ExactlyAdded
  int64_t num_live;
  int64_t num_rewritten;
};

// Costs of e-nodes, rounded to multiples of a power of two that is large enough for additions and
// subtractions of what selections have to be exact, in any order: a cost that falls and rises again
// is what it was, however large others were meanwhile. By Node; off by 2^-51 of the sum over all
// classes of their dearest e-nodes.
std::vector<double> ExactlyAdded(const Instance& instance);

class SharedSelection {
 public:
  // `choice` must be acyclic; it stays so. Borrows the others (see components.h).
  SharedSelection(const Instance& instance, std::span<const uint32_t> components,
                  std::vector<Node> choice);

  // Chooses `node` for its class; false, and nothing changed, if that would close a cycle.
  bool Choose(Node node);

  // Undoes all changes since `mark` was taken.
  size_t Mark() const { return journal_.size(); }
  void UndoTo(size_t mark);
  // Forgets how to undo.
  void Commit() { journal_.clear(); }

  // What other e-nodes of a live class would make of it, cycles or not: calls visit(e-node, score)
  // for those that would cost `limit` at most. Nothing changes.
  template <typename Visit>
  void ForEachSwitch(Class id, double limit, const Visit& visit);

  // What it would cost to make the class live, or more than `limit` if it is more than that. Calls
  // visit(live class) for those that it would use, itself if it is live.
  template <typename Visit>
  double WalkCone(Class id, double limit, const Visit& visit);

  Node choice(Class id) const { return choice_.of(id); }
  const std::vector<Node>& choices() const { return choice_.all(); }
  // How many live choices, and roots, use the class; live are those with at least one use.
  uint32_t uses(Class id) const { return uses_[id.value()]; }
  bool live(Class id) const { return uses_[id.value()] > 0; }
  // What each class pays for itself and, where several share a class, its share of that: by Class,
  // 0 for those that are not live. Classes that give up their choices together free no more than
  // the sum of theirs.
  std::vector<double> Shares() const;

  // How many classes were counted as used or dropped, or walked through, so far: what the work of
  // a caller is proportional to.
  int64_t steps() const { return steps_ + choice_.steps(); }

  Score score() const { return score_; }
  double cost() const { return score_.cost; }

 private:
  void Switch(Class id, Node old_node, Node node);
  void Use(Class id);
  void Drop(Class id);
  void Pay(Node node, int sign);
  void CountComputation(Node node, int sign);

  const Instance& instance_;
  const std::vector<double> cost_;  // ExactlyAdded
  AcyclicChoice choice_;
  std::vector<uint32_t> uses_;
  Score score_ = {0, 0, 0, 0};
  std::vector<uint32_t> computed_;  // by number, see Instance: in how many live classes
  std::vector<Node> journal_;       // choices replaced, oldest first
  int64_t steps_ = 0;
  std::vector<Class> stack_;
  std::vector<uint32_t> seen_in_;  // by Class: the walk that was there last
  uint32_t walk_ = 0;
};

template <typename Visit>
void SharedSelection::ForEachSwitch(Class id, double limit, const Visit& visit) {
  const Node current = choice(id);
  const std::span<const Class> now_used = instance_.children[current.value()];
  const double all = cost();  // no more can be freed
  for (const Node node : instance_.nodes[id.value()]) {
    if (node == current) continue;
    Pay(node, 1);
    // New uses first: what both share, and is below that, does not go and come back.
    const std::span<const Class> children = instance_.children[node.value()];
    size_t used = 0;
    while (used < children.size() && score_.cost - all <= limit) Use(children[used++]);
    if (used == children.size()) {
      Pay(current, -1);
      for (const Class child : now_used) Drop(child);
      const Score score = score_;
      for (const Class child : now_used) Use(child);
      Pay(current, 1);
      if (score.cost <= limit) visit(node, score);
    }
    while (used > 0) Drop(children[--used]);
    Pay(node, -1);
  }
}

template <typename Visit>
double SharedSelection::WalkCone(Class id, double limit, const Visit& visit) {
  double cost = 0;
  ++walk_;
  seen_in_[id.value()] = walk_;
  stack_.assign(1, id);
  while (!stack_.empty() && cost <= limit) {
    const Class next = stack_.back();
    stack_.pop_back();
    ++steps_;
    if (live(next)) {
      visit(next);
      continue;
    }
    const Node node = choice(next);
    cost += cost_[node.value()];
    for (const Class child : instance_.children[node.value()]) {
      if (seen_in_[child.value()] == walk_) continue;
      seen_in_[child.value()] = walk_;
      stack_.push_back(child);
    }
  }
  return cost;
}

}  // namespace quotient::extract
