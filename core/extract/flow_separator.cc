#include "core/extract/flow_separator.h"

#include <algorithm>
#include <span>

#include "core/extract/bottom_up.h"

namespace quotient::extract {
namespace {

constexpr double kMinViolation = 1e-2;
constexpr double kMinCapacity = 1e-9;
// Rounds of ComputeSupport, whose result need not be exact.
constexpr int kSupportRounds = 5;
// Most flows computed in one network.
constexpr int kMaxFlows = 300;

}  // namespace

FlowSeparator::FlowSeparator(const Instance& instance)
    : instance_(instance),
      path_cost_(MinimizePathCost(instance).value),
      order_(instance.num_classes()),
      sink_(static_cast<uint32_t>(instance.num_classes())),
      out_(instance.num_classes() + 1),
      level_(instance.num_classes() + 1),
      next_(instance.num_classes() + 1) {
  for (uint32_t i = 0; i < instance.num_classes(); ++i) order_[i] = Class(i);
  std::ranges::stable_sort(
      order_, [this](Class a, Class b) { return path_cost_[a.value()] < path_cost_[b.value()]; });
}

std::vector<LoopInequality> FlowSeparator::Separate(std::span<const double> node_value,
                                                    std::span<const double> class_value,
                                                    const StopCondition& stop) {
  ComputeSupport(node_value);
  std::vector<LoopInequality> found;
  for (Witness witness : kWitnesses) {
    BuildNetwork(node_value, witness);
    SeparateAll(class_value, stop, found);
  }
  return found;
}

// Computes flows from the classes that no inequality found in this network covers.
void FlowSeparator::SeparateAll(std::span<const double> class_value, const StopCondition& stop,
                                std::vector<LoopInequality>& found) {
  std::vector<bool> covered(instance_.num_classes(), false);
  int num_flows = 0;
  for (uint32_t i = 0; i < sink_ && num_flows < kMaxFlows && !stop.ShouldStop(); ++i) {
    if (covered[i] || class_value[i] <= kMinViolation) continue;
    ++num_flows;
    if (FallsShort(i, class_value[i] - kMinViolation)) {
      found.push_back(MakeInequality(class_value));
      for (uint32_t v = 0; v < sink_; ++v) {
        if (level_[v] >= 0) covered[v] = true;
      }
    }
    ResetFlow();
  }
}

// Computes an upper bound on how much of each class what is chosen below it can derive.
void FlowSeparator::ComputeSupport(std::span<const double> node_value) {
  support_.assign(instance_.num_classes(), 0);
  for (int round = 0; round < kSupportRounds; ++round) {
    for (Class id : order_) {
      double sum = 0;
      for (Node node : instance_.nodes[id.value()]) {
        double value = node_value[node.value()];
        for (Class child : instance_.children[node.value()]) {
          value = std::min(value, support_[child.value()]);
        }
        sum += value;
      }
      support_[id.value()] = sum;
    }
  }
}

void FlowSeparator::BuildNetwork(std::span<const double> node_value, Witness witness) {
  arcs_.clear();
  for (std::vector<uint32_t>& arcs : out_) arcs.clear();
  for (uint32_t i = 0; i < instance_.num_nodes(); ++i) {
    if (node_value[i] < kMinCapacity) continue;
    const Class to = WitnessOf(Node(i), witness);
    AddArc(instance_.class_of[i].value(), to.valid() ? to.value() : sink_, node_value[i]);
  }
  capacity_.clear();
  for (const Arc& arc : arcs_) capacity_.push_back(arc.capacity);
}

void FlowSeparator::AddArc(uint32_t from, uint32_t to, double capacity) {
  out_[from].push_back(static_cast<uint32_t>(arcs_.size()));
  arcs_.push_back({to, capacity});
  out_[to].push_back(static_cast<uint32_t>(arcs_.size()));
  arcs_.push_back({from, 0});
}

// Invalid for e-nodes without children.
Class FlowSeparator::WitnessOf(Node node, Witness witness) {
  const std::span<const Class> children = instance_.children[node.value()];
  if (children.empty()) return Class();
  switch (witness) {
    case Witness::kLeastSupported:
      return *std::ranges::min_element(children, {},
                                       [this](Class c) { return support_[c.value()]; });
    case Witness::kDearest:
      return *std::ranges::max_element(children, {},
                                       [this](Class c) { return path_cost_[c.value()]; });
    case Witness::kAny:
      break;
  }
  return children[rng_.Below(children.size())];
}

bool FlowSeparator::FallsShort(uint32_t source, double demand) {
  while (demand > 0) {
    if (!SetLevels(source)) return true;
    std::ranges::fill(next_, 0);
    for (double flow = 1; flow > 0 && demand > 0;) {
      flow = Augment(source, demand);
      demand -= flow;
    }
  }
  return false;
}

// False if the sink is not reachable. The reachable vertices are then one side of a minimum cut.
bool FlowSeparator::SetLevels(uint32_t source) {
  std::ranges::fill(level_, -1);
  std::vector<uint32_t> queue = {source};
  level_[source] = 0;
  for (size_t i = 0; i < queue.size(); ++i) {
    for (uint32_t arc : out_[queue[i]]) {
      const uint32_t to = arcs_[arc].to;
      if (level_[to] >= 0 || arcs_[arc].capacity < kMinCapacity) continue;
      level_[to] = level_[queue[i]] + 1;
      queue.push_back(to);
    }
  }
  return level_[sink_] >= 0;
}

// Sends up to `limit` along one path of rising levels. Returns the amount, 0 if there is no path.
double FlowSeparator::Augment(uint32_t source, double limit) {
  path_.clear();
  uint32_t at = source;
  while (at != sink_) {
    if (next_[at] == out_[at].size()) {
      if (at == source) return 0;
      at = arcs_[path_.back() ^ 1].to;
      path_.pop_back();
      ++next_[at];
      continue;
    }
    const uint32_t arc = out_[at][next_[at]];
    if (arcs_[arc].capacity < kMinCapacity || level_[arcs_[arc].to] != level_[at] + 1) {
      ++next_[at];
      continue;
    }
    path_.push_back(arc);
    at = arcs_[arc].to;
  }
  double flow = limit;
  for (uint32_t arc : path_) flow = std::min(flow, arcs_[arc].capacity);
  for (uint32_t arc : path_) {
    arcs_[arc].capacity -= flow;
    arcs_[arc ^ 1].capacity += flow;
  }
  return flow;
}

void FlowSeparator::ResetFlow() {
  for (size_t i = 0; i < arcs_.size(); ++i) arcs_[i].capacity = capacity_[i];
}

// Makes the inequality for the reachable classes.
LoopInequality FlowSeparator::MakeInequality(std::span<const double> class_value) const {
  LoopInequality inequality;
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    if (level_[i] < 0) continue;
    Class& needed = inequality.needed;
    if (!needed.valid() || class_value[i] > class_value[needed.value()]) needed = Class(i);
    for (Node node : instance_.nodes[i]) {
      const auto is_inside = [this](Class child) { return level_[child.value()] >= 0; };
      if (std::ranges::none_of(instance_.children[node.value()], is_inside)) {
        inequality.exits.push_back(node);
      }
    }
  }
  return inequality;
}

}  // namespace quotient::extract
