#include "core/extract/history.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/extract/acyclic_choice.h"
#include "core/extract/bottom_up.h"
#include "core/extract/components.h"
#include "core/extract/to_selection.h"

namespace quotient::extract {
namespace {

// The part of a cost that is due to a class below.
struct Part {
  uint32_t id;
  double value;
};

// A set of parts with at most one per class, built up one by one.
class Parts {
 public:
  explicit Parts(size_t num_classes) : place_(num_classes, 0) {}

  void Clear() { parts_.clear(); }
  // Null if the class has no part.
  Part* Find(uint32_t id) {
    const size_t place = place_[id];
    return place < parts_.size() && parts_[place].id == id ? &parts_[place] : nullptr;
  }
  // Adds a part for a class that has none.
  void Add(const Part& part) {
    place_[part.id] = static_cast<uint32_t>(parts_.size());
    parts_.push_back(part);
  }
  const std::vector<Part>& all() const { return parts_; }

 private:
  std::vector<Part> parts_;
  // By Class: position of its part in parts_, valid if the part there is of this class.
  std::vector<uint32_t> place_;
};

class Histories {
 public:
  explicit Histories(const Instance& instance)
      : instance_(instance),
        cost_(instance.num_classes(), std::numeric_limits<double>::infinity()),
        choice_(instance.num_classes()),
        history_(instance.num_classes()),
        changed_at_(instance.num_classes(), 0),
        evaluated_at_(instance.num_classes(), -1),
        parts_(instance.num_classes()) {}

  // Updates all classes once. True if a class got cheaper.
  bool Pass(const StopCondition& stop) {
    bool changed = false;
    for (uint32_t id = 0; id < instance_.num_classes() && !stop.ShouldStop(); ++id) {
      if (MayChange(id)) changed |= Update(id);
    }
    return changed;
  }

  // By Class; invalid for a class that has none because of `stop`.
  const std::vector<Node>& choice() const { return choice_; }

 private:
  // Whether anything that its costs depend on has changed.
  bool MayChange(uint32_t id) const {
    if (evaluated_at_[id] < 0) return true;
    for (const Node node : instance_.nodes[id]) {
      for (const Class child : instance_.children[node.value()]) {
        if (changed_at_[child.value()] >= evaluated_at_[id]) return true;
      }
    }
    return false;
  }

  bool Update(uint32_t id) {
    evaluated_at_[id] = ++now_;
    std::vector<Part> best;
    bool better = false;
    for (const Node node : instance_.nodes[id]) {
      const double cost = Evaluate(node);
      if (!(cost < cost_[id])) continue;
      cost_[id] = cost;
      choice_[id] = node;
      best = parts_.all();
      better = true;
    }
    if (!better) return false;
    // Only after the loop, since e-nodes of a class that contains itself must see the old history.
    history_[id] = std::move(best);
    changed_at_[id] = now_;
    return true;
  }

  // Returns the cost of the e-node, and leaves its parts in parts_.
  double Evaluate(Node node) {
    parts_.Clear();
    double total = instance_.cost[node.value()];
    for (const Class child : instance_.children[node.value()]) total += Contribution(child);
    return total;
  }

  // Returns what the child adds to a cost made of parts_, and adds the child and its parts to
  // parts_.
  double Contribution(Class child) {
    if (parts_.Find(child.value()) != nullptr) return 0;
    double shared = 0;
    for (const Part& part : history_[child.value()]) {
      if (parts_.Find(part.id) != nullptr) {
        shared = std::max(shared, part.value);
      } else {
        parts_.Add(part);
      }
    }
    const double share = std::max(cost_[child.value()] - shared, 0.0);
    if (!(share > 0)) return share;
    if (Part* const itself = parts_.Find(child.value())) {
      itself->value = share;
    } else {
      parts_.Add({child.value(), share});
    }
    return share;
  }

  const Instance& instance_;

  // --- Indexed by Class
  std::vector<double> cost_;
  std::vector<Node> choice_;
  std::vector<std::vector<Part>> history_;
  std::vector<int64_t> changed_at_;
  std::vector<int64_t> evaluated_at_;
  int64_t now_ = 0;
  Parts parts_;  // Scratch of Evaluate.
};

}  // namespace

absl::StatusOr<Selection> HistoryExtractor::Choose(const Problem& problem,
                                                   const StopCondition& stop) const {
  QUOTIENT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(problem));
  Histories histories(instance);
  // Without subtractions this many passes would be enough; with them there is no guarantee that
  // costs settle.
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
