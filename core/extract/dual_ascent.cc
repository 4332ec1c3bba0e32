#include "core/extract/dual_ascent.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "core/extract/support_costs.h"

namespace quotient::extract {
namespace {

// Reduced costs below this share of the largest are rounding errors, and treated as 0.
constexpr double kRounding = 1e-12;

class Ascent {
 public:
  Ascent(const Instance& instance, std::vector<double> cost)
      : instance_(instance),
        in_zone_(instance.num_classes(), 0),
        reached_(instance.num_classes(), 0) {
    dual_.reduced_cost = std::move(cost);
    double largest = 0;
    for (const double each : dual_.reduced_cost) {
      if (each < std::numeric_limits<double>::infinity()) largest = std::max(largest, each);
    }
    rounding_ = largest * kRounding;
    for (double& each : dual_.reduced_cost) RoundOff(each);
    for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
      if (instance.children[i].empty()) childless_.push_back(Node(i));
    }
  }

  DualBound Run(const StopCondition& stop, std::vector<std::vector<Node>>* landmarks) {
    SupportCosts costs(instance_, dual_.reduced_cost);
    while (!stop.ShouldStop()) {
      const Class goal = DearestRoot(costs);
      if (costs.of(goal) == 0) break;
      ++round_;
      const std::vector<Node> landmark = Cut(costs, goal);
      if (!Charge(landmark)) break;
      costs.Lower(landmark);
      if (landmarks != nullptr) landmarks->push_back(landmark);
    }
    return std::move(dual_);
  }

 private:
  Class DearestRoot(const SupportCosts& costs) const {
    return *std::ranges::max_element(instance_.roots,
                                     [&](Class a, Class b) { return costs.of(a) < costs.of(b); });
  }

  // Finds a landmark. Each e-node is reduced to its dearest child, which leaves a graph in which
  // every selection has a path from an e-node without children to the goal. The landmark is a cut
  // in this graph: the e-nodes that lead into the zone from which the goal is free, among those
  // reached without passing the zone.
  std::vector<Node> Cut(const SupportCosts& costs, Class goal) {
    GrowZone(costs, goal);
    std::vector<Node> cut;
    queue_.clear();
    const auto reach = [&](Node node) {
      const Class id = instance_.class_of[node.value()];
      if (in_zone_[id.value()] == round_) {
        cut.push_back(node);
      } else if (reached_[id.value()] != round_) {
        reached_[id.value()] = round_;
        queue_.push_back(id);
      }
    };
    for (const Node node : childless_) reach(node);
    for (size_t i = 0; i < queue_.size(); ++i) {
      for (const Node parent : instance_.parents[queue_[i].value()]) {
        if (costs.support(parent) == queue_[i]) reach(parent);
      }
    }
    return cut;
  }

  void GrowZone(const SupportCosts& costs, Class goal) {
    queue_.assign(1, goal);
    in_zone_[goal.value()] = round_;
    for (size_t i = 0; i < queue_.size(); ++i) {
      for (const Node node : instance_.nodes[queue_[i].value()]) {
        const Class support = costs.support(node);
        if (dual_.reduced_cost[node.value()] > 0 || !support.valid()) continue;
        if (in_zone_[support.value()] == round_) continue;
        in_zone_[support.value()] = round_;
        queue_.push_back(support);
      }
    }
  }

  // Charges for the landmark. False if it is free, which cannot happen while the goal costs
  // something: every class in the zone then costs as much as the goal, so what leads into it is not
  // free.
  bool Charge(std::span<const Node> landmark) {
    double charge = std::numeric_limits<double>::infinity();
    for (const Node node : landmark) {
      charge = std::min(charge, dual_.reduced_cost[node.value()]);
    }
    if (landmark.empty() || charge <= 0) return false;
    for (const Node node : landmark) {
      double& cost = dual_.reduced_cost[node.value()];
      cost -= charge;
      RoundOff(cost);
    }
    dual_.bound += charge;
    return true;
  }

  // Rounds down, so that bounds remain valid.
  void RoundOff(double& cost) const {
    if (cost <= rounding_) cost = 0;
  }

  const Instance& instance_;
  double rounding_ = 0;
  DualBound dual_;
  std::vector<Node> childless_;
  // By Class: the last round in which it was in the zone, or was reached.
  std::vector<uint32_t> in_zone_;
  std::vector<uint32_t> reached_;
  uint32_t round_ = 0;
  std::vector<Class> queue_;
};

// By Class, the least reduced cost of a path from there up to a root.
std::vector<double> CostsAbove(const Instance& instance, std::span<const double> cost) {
  using Label = std::pair<double, Class>;
  std::vector<double> above(instance.num_classes(), std::numeric_limits<double>::infinity());
  std::priority_queue<Label, std::vector<Label>, std::greater<>> queue;
  const auto offer = [&](Class id, double value) {
    if (value >= above[id.value()]) return;
    above[id.value()] = value;
    queue.emplace(value, id);
  };
  for (const Class root : instance.roots) offer(root, 0);
  while (!queue.empty()) {
    const auto [value, id] = queue.top();
    queue.pop();
    if (value > above[id.value()]) continue;
    for (const Node node : instance.nodes[id.value()]) {
      for (const Class child : instance.children[node.value()]) {
        offer(child, value + cost[node.value()]);
      }
    }
  }
  return above;
}

}  // namespace

DualBound AscendDual(const Instance& instance, std::vector<double> cost, const StopCondition& stop,
                     std::vector<std::vector<Node>>* landmarks) {
  return Ascent(instance, std::move(cost)).Run(stop, landmarks);
}

// A selection with the e-node contains a path of e-nodes up to a root and one down from it. Their
// reduced costs are not part of the bound, so they can be added to it.
std::vector<bool> CanBeCheaper(const Instance& instance, const DualBound& dual, double limit) {
  const SupportCosts below(instance, dual.reduced_cost);
  const std::vector<double> above = CostsAbove(instance, dual.reduced_cost);
  std::vector<bool> can(instance.num_nodes());
  for (uint32_t i = 0; i < can.size(); ++i) {
    const double through =
        below.below(Node(i)) + dual.reduced_cost[i] + above[instance.class_of[i].value()];
    can[i] = dual.bound + through < limit;
  }
  return can;
}

}  // namespace quotient::extract
