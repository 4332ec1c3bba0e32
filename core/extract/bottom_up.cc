#include "core/extract/bottom_up.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace quotient::extract {
namespace {

// A candidate for settling a class. Ties prefer fewer e-nodes made by rules, then less depth, then
// the older e-node.
struct Candidate {
  double value = 0;
  // Counts e-nodes of the whole tree, which can be as many as 2^depth.
  double rewritten = 0;
  uint32_t depth = 0;
  Node node;

  friend bool operator>(const Candidate& a, const Candidate& b) {
    if (a.value != b.value) return a.value > b.value;
    return std::tie(a.rewritten, a.depth, a.node) > std::tie(b.rewritten, b.depth, b.node);
  }
};

// `join(own cost, value so far, child's value, multiplicity)` adds a child to an e-node's value;
// `charge(class, value)` is what parents are charged for a class.
template <typename Join, typename Charge>
BottomUpResult Settle(const Instance& instance, const Join& join, const Charge& charge) {
  BottomUpResult result;
  result.choice.resize(instance.num_classes());
  result.value.resize(instance.num_classes());
  std::vector<double> rewritten(instance.num_classes(), 0);
  std::vector<uint32_t> depth(instance.num_classes(), 0);
  std::vector<uint32_t> missing(instance.num_nodes());
  std::vector<Candidate> offered(instance.num_classes());  // The best so far, by Class.
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;

  const auto offer = [&](Node node) {
    Candidate candidate = {instance.cost[node.value()],
                           static_cast<double>(instance.rewritten[node.value()]), 0, node};
    const std::span<const Class> children = instance.children[node.value()];
    const std::span<const uint32_t> times = instance.multiplicity[node.value()];
    for (size_t i = 0; i < children.size(); ++i) {
      const uint32_t child = children[i].value();
      candidate.value =
          join(instance.cost[node.value()], candidate.value, result.value[child], times[i]);
      candidate.rewritten += rewritten[child] * times[i];
      candidate.depth = std::max(candidate.depth, depth[child] + 1);
    }
    Candidate& best = offered[instance.class_of[node.value()].value()];
    if (best.node.valid() && !(best > candidate)) return;
    best = candidate;
    queue.push(candidate);
  };
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    missing[i] = static_cast<uint32_t>(instance.children[i].size());
    if (missing[i] == 0) offer(Node(i));
  }
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    const Class id = instance.class_of[best.node.value()];
    if (result.choice[id.value()].valid()) continue;
    result.choice[id.value()] = best.node;
    result.value[id.value()] = charge(id, best.value);
    rewritten[id.value()] = best.rewritten;
    depth[id.value()] = best.depth;
    for (Node parent : instance.parents[id.value()]) {
      const bool settled = result.choice[instance.class_of[parent.value()].value()].valid();
      if (--missing[parent.value()] == 0 && !settled) offer(parent);
    }
  }
  return result;
}

constexpr auto kSum = [](double /*own*/, double sum, double child, uint32_t times) {
  return sum + child * times;
};
constexpr auto kMaximum = [](double own, double value, double child, uint32_t /*times*/) {
  return std::max(value, own + child);
};
constexpr auto kWhole = [](Class, double value) { return value; };

}  // namespace

BottomUpResult MinimizeTreeCost(const Instance& instance) { return Settle(instance, kSum, kWhole); }

BottomUpResult MinimizeSharedCost(const Instance& instance, std::span<const double> uses) {
  return Settle(instance, kSum,
                [uses](Class id, double value) { return value / uses[id.value()]; });
}

BottomUpResult MinimizePathCost(const Instance& instance) {
  return Settle(instance, kMaximum, kWhole);
}

}  // namespace quotient::extract
