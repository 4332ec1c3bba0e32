#include "core/extract/history.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/status_macros.h"
#include "core/extract/acyclic_choice.h"
#include "core/extract/bottom_up.h"
#include "core/extract/components.h"
#include "core/extract/to_selection.h"

namespace quotient::extract {
namespace {

// What of a cost is due to which class below.
using Parts = absl::flat_hash_map<uint32_t, double>;

class Histories {
 public:
  explicit Histories(const Instance& instance)
      : instance_(instance),
        cost_(instance.num_classes(), std::numeric_limits<double>::infinity()),
        choice_(instance.num_classes()),
        parts_(instance.num_classes()) {}

  // True if a class got cheaper.
  bool Pass(const StopCondition& stop) {
    bool changed = false;
    for (uint32_t id = 0; id < instance_.num_classes() && !stop.ShouldStop(); ++id) {
      Parts best;
      bool better = false;
      for (const Node node : instance_.nodes[id]) {
        Parts parts;
        const double cost = Evaluate(node, parts);
        if (!(cost < cost_[id])) continue;
        cost_[id] = cost;
        choice_[id] = node;
        best = std::move(parts);
        better = true;
      }
      // Only now: e-nodes of a class that contains itself see what was known before.
      if (better) parts_[id] = std::move(best);
      changed |= better;
    }
    return changed;
  }

  // By Class; invalid where stopped before there was one.
  const std::vector<Node>& choice() const { return choice_; }

 private:
  double Evaluate(Node node, Parts& parts) const {
    double total = instance_.cost[node.value()];
    for (const Class child : instance_.children[node.value()]) {
      const double share = Contribution(child, parts);
      if (share > 0) parts[child.value()] = share;
      total += share;
    }
    return total;
  }

  // What the child adds to a cost that is made of `parts`, which take in those of the child.
  double Contribution(Class child, Parts& parts) const {
    const double cost = cost_[child.value()];
    const Parts& below = parts_[child.value()];
    if (parts.contains(child.value())) return 0;
    double shared = 0;
    for (const auto& [id, value] : below) {
      if (!parts.emplace(id, value).second) shared = std::max(shared, value);
    }
    return std::max(cost - shared, 0.0);
  }

  const Instance& instance_;
  std::vector<double> cost_;
  std::vector<Node> choice_;
  std::vector<Parts> parts_;
};

}  // namespace

absl::StatusOr<Selection> HistoryExtractor::Choose(const Problem& problem,
                                                   const StopCondition& stop) const {
  QUOTIENT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(problem));
  Histories histories(instance);
  // Sums without subtractions would settle in as many passes; with them nothing says when.
  for (size_t i = 0; i <= instance.num_classes() && histories.Pass(stop); ++i) {
  }
  const std::vector<uint32_t> components = StrongComponents(instance);
  AcyclicChoice choice(instance, components, MinimizeTreeCost(instance).choice);
  for (const Node node : histories.choice()) {
    if (node.valid()) choice.Choose(node);
  }
  return ToSelection(problem, instance, choice.all());
}

}  // namespace quotient::extract
