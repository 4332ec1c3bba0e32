#include "core/extract/loop_separator.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "core/extract/components.h"

namespace quotient::extract {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Smaller violations are ignored: the solver would not reduce them much further.
constexpr double kMinViolation = 1e-3;
// Cost of an edge besides its slack: among equal cycles short ones make the stronger rows.
constexpr double kStep = 1e-6;

}  // namespace

LoopSeparator::LoopSeparator(const Instance& instance)
    : instance_(instance),
      edges_of_node_(instance.num_nodes()),
      distance_(instance.num_classes(), kInfinity),
      from_(instance.num_classes()),
      inside_(instance.num_classes(), false) {
  const std::vector<uint32_t> component = StrongComponents(instance);
  std::vector<std::pair<uint32_t, uint32_t>> uses;  // Pairs of e-node and edge.
  std::vector<uint32_t> edge_to(instance.num_classes());
  for (uint32_t i = 0; i < instance.num_classes(); ++i) {
    const auto begin = static_cast<uint32_t>(edges_.size());
    edge_begin_.push_back(begin);
    for (Node node : instance.nodes[i]) {
      for (Class child : instance.children[node.value()]) {
        if (component[child.value()] != component[i]) continue;
        uint32_t& edge = edge_to[child.value()];
        if (edge < begin || edge >= edges_.size() || edges_[edge].to != child) {
          edge = static_cast<uint32_t>(edges_.size());
          edges_.push_back({child, 0});
        }
        uses.emplace_back(node.value(), edge);
      }
    }
  }
  edge_begin_.push_back(static_cast<uint32_t>(edges_.size()));
  for (const auto& [node, edge] : uses) edges_of_node_.Count(node);
  edges_of_node_.Allocate();
  for (const auto& [node, edge] : uses) edges_of_node_.Append(node, edge);
}

std::vector<LoopInequality> LoopSeparator::Separate(std::span<const double> node_value,
                                                    std::span<const double> class_value,
                                                    const StopCondition& stop) {
  SetSlacks(node_value, class_value);
  std::vector<LoopInequality> found;
  std::vector<bool> covered(instance_.num_classes(), false);
  for (uint32_t i = 0; i < instance_.num_classes() && !stop.ShouldStop(); ++i) {
    if (covered[i] || edge_begin_[i] == edge_begin_[i + 1]) continue;
    const std::vector<Class> cycle = CheapestCycle(Class(i), class_value[i] - kMinViolation);
    if (cycle.empty()) continue;
    for (Class id : cycle) covered[id.value()] = true;
    found.push_back(MakeInequality(cycle, class_value));
  }
  return found;
}

void LoopSeparator::SetSlacks(std::span<const double> node_value,
                              std::span<const double> class_value) {
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    for (uint32_t e = edge_begin_[i]; e < edge_begin_[i + 1]; ++e) edges_[e].slack = class_value[i];
  }
  for (uint32_t i = 0; i < instance_.num_nodes(); ++i) {
    for (uint32_t e : edges_of_node_[i]) edges_[e].slack -= node_value[i];
  }
}

// Dijkstra's algorithm from `start` back to itself.
std::vector<Class> LoopSeparator::CheapestCycle(Class start, double limit) {
  using Entry = std::pair<double, Class>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  double closed = limit;
  // The class before `start` on the cheapest cycle.
  Class last;
  queue.emplace(0, start);
  while (!queue.empty() && queue.top().first < closed) {
    const auto [distance, id] = queue.top();
    queue.pop();
    if (distance > distance_[id.value()]) continue;
    for (uint32_t e = edge_begin_[id.value()]; e < edge_begin_[id.value() + 1]; ++e) {
      const Class to = edges_[e].to;
      const double next = distance + std::max(edges_[e].slack, 0.0) + kStep;
      if (to == start) {
        if (next < closed) last = id;
        closed = std::min(closed, next);
      } else if (next < closed && next < distance_[to.value()]) {
        if (distance_[to.value()] == kInfinity) touched_.push_back(to);
        distance_[to.value()] = next;
        from_[to.value()] = id;
        queue.emplace(next, to);
      }
    }
  }
  std::vector<Class> cycle;
  if (last.valid()) {
    for (Class id = last; id != start; id = from_[id.value()]) cycle.push_back(id);
    cycle.push_back(start);
  }
  for (Class id : touched_) distance_[id.value()] = kInfinity;
  touched_.clear();
  return cycle;
}

LoopInequality LoopSeparator::MakeInequality(const std::vector<Class>& cycle,
                                             std::span<const double> class_value) {
  for (Class id : cycle) inside_[id.value()] = true;
  LoopInequality inequality = {cycle.front(), {}};
  for (Class id : cycle) {
    if (class_value[id.value()] > class_value[inequality.needed.value()]) inequality.needed = id;
    for (Node node : instance_.nodes[id.value()]) {
      const auto is_inside = [this](Class child) { return inside_[child.value()]; };
      if (std::ranges::none_of(instance_.children[node.value()], is_inside)) {
        inequality.exits.push_back(node);
      }
    }
  }
  for (Class id : cycle) inside_[id.value()] = false;
  return inequality;
}

}  // namespace quotient::extract
