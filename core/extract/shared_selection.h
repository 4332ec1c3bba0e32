#pragma once

// SharedSelection: a choice for every class, and its cost where each class is paid for once.
// Classes are reference-counted from the roots, so a change of one choice updates the cost in time
// proportional to the part of the graph that is added or removed. A choice that computes a class of
// the e-graph in several places is not a selection; the number of such computations is counted.

#include <cstdint>
#include <span>
#include <vector>

#include "core/extract/acyclic_choice.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// Costs that differ by less than this, relatively, are equal: they are sums that were rounded
// differently.
inline constexpr double kRelativeTolerance = 1e-12;

// The quality of a choice. Redundant computations count first, since there should be none, then the
// cost. Among equal costs fewer classes are better, then fewer e-nodes made by rules, so that a
// rewrite without gain is not applied.
struct Score {
  int64_t num_recomputed;
  // Exact sum of slightly rounded costs: see ExactlyAdded.
  double cost;
  int64_t num_live;
  int64_t num_rewritten;
};

// Costs of e-nodes, by Node, rounded to multiples of a power of two that is large enough for sums
// and differences of the costs in a selection to be exact in any order. A cost that falls and rises
// again is then the same as before, however large others were meanwhile. The rounding error is
// 2^-51 of the sum, over all classes, of the dearest e-node.
std::vector<double> ExactlyAdded(const Instance& instance);

class SharedSelection {
 public:
  // `choice` must be acyclic, and stays so. Borrows the others (see components.h).
  SharedSelection(const Instance& instance, std::span<const uint32_t> components,
                  std::vector<Node> choice);

  // Chooses `node` for its class. False if that would close a cycle; nothing is changed then.
  bool Choose(Node node);

  // Undoes all changes since `mark` was taken.
  size_t Mark() const { return journal_.size(); }
  void UndoTo(size_t mark);
  // Makes all changes permanent.
  void Commit() { journal_.clear(); }

  // Calls visit(e-node, score) for each other e-node of a live class that would lead to a cost of
  // at most `limit`. Ignores cycles. Leaves the selection unchanged.
  template <typename Visit>
  void ForEachSwitch(Class id, double limit, const Visit& visit);

  // The cost of making the class live, or some value above `limit` if it is more. Calls visit for
  // the live classes that it would use, or for the class itself if it is live.
  template <typename Visit>
  double WalkCone(Class id, double limit, const Visit& visit);

  Node choice(Class id) const { return choice_.of(id); }
  const std::vector<Node>& choices() const { return choice_.all(); }
  // Number of live choices and roots that use the class. A class is live if it has at least one
  // use.
  uint32_t uses(Class id) const { return uses_[id.value()]; }
  bool live(Class id) const { return uses_[id.value()] > 0; }
  // By Class, what each live class pays: its own cost and an even split of the shares of the
  // children it uses with other classes. 0 for classes that are not live. Classes that give up
  // their choices together free at most the sum of their shares.
  std::vector<double> Shares() const;

  // Number of classes counted as used or dropped, or walked through, so far. The work of a caller
  // is proportional to it.
  int64_t steps() const { return steps_ + choice_.steps(); }

  Score score() const { return score_; }
  double cost() const { return score_.cost; }

 private:
  // What a live e-node counts for and what it uses, stored together since they are read together.
  struct Part {
    double cost;  // From ExactlyAdded.
    uint32_t computation;
    uint32_t rewritten;
    std::span<const Class> children;
  };

  void Switch(Class id, Node old_node, Node node);
  // Most classes that are used have other users, too, so that nothing below them changes.
  void Use(Class id) {
    ++steps_;
    if (uses_[id.value()]++ == 0) UseBelow(id);
  }
  void Drop(Class id) {
    ++steps_;
    if (--uses_[id.value()] == 0) DropBelow(id);
  }
  void UseBelow(Class id);
  void DropBelow(Class id);
  void Pay(Node node, int sign) {
    const Part& part = parts_[node.value()];
    score_.cost += sign * part.cost;
    score_.num_rewritten += sign * static_cast<int64_t>(part.rewritten);
    if (part.computation != Instance::kComputesAlone) CountComputation(part.computation, sign);
  }
  void CountComputation(uint32_t computation, int sign);

  const Instance& instance_;
  std::vector<Part> parts_;  // By Node.
  AcyclicChoice choice_;
  std::vector<uint32_t> uses_;
  Score score_ = {0, 0, 0, 0};
  // By number of a computation (Instance::computes): how many live classes compute it.
  std::vector<uint32_t> computed_;
  std::vector<Node> journal_;  // Choices replaced, oldest first.
  int64_t steps_ = 0;
  std::vector<Class> stack_;
  std::vector<uint32_t> seen_in_;  // By Class: the last walk that visited it.
  uint32_t walk_ = 0;
};

template <typename Visit>
void SharedSelection::ForEachSwitch(Class id, double limit, const Visit& visit) {
  const Node current = choice(id);
  const std::span<const Class> now_used = parts_[current.value()].children;
  const auto release = [&] {
    Pay(current, -1);
    for (const Class child : now_used) Drop(child);
  };
  const auto restore = [&] {
    for (const Class child : now_used) Use(child);
    Pay(current, 1);
  };
  // Most switches cost more than they can free, which is what the class frees if the other e-node
  // uses none of it.
  const double before = cost();
  release();
  const double most_freed = before - cost();
  restore();
  const auto may_fit = [&] { return score_.cost - most_freed <= limit; };
  for (const Node node : instance_.nodes[id.value()]) {
    if (node == current) continue;
    Pay(node, 1);
    // New uses are counted first, so that what both e-nodes use is not dropped and added again.
    const std::span<const Class> children = parts_[node.value()].children;
    size_t used = 0;
    while (used < children.size() && may_fit()) Use(children[used++]);
    if (used == children.size() && may_fit()) {
      release();
      const Score score = score_;
      restore();
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
    cost += parts_[node.value()].cost;
    for (const Class child : parts_[node.value()].children) {
      if (seen_in_[child.value()] == walk_) continue;
      seen_in_[child.value()] = walk_;
      stack_.push_back(child);
    }
  }
  return cost;
}

}  // namespace quotient::extract
