#include "core/extract/several.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/base/status_macros.h"
#include "core/extract/components.h"
#include "core/extract/dag.h"
#include "core/extract/instance.h"
#include "core/extract/shared_selection.h"
#include "core/extract/to_selection.h"

namespace quotient::extract {
namespace {

// A best-first walk: of what it knows the cheapest is next, and what one switch makes of it becomes
// known.
class Walk {
 public:
  Walk(const Problem& problem, const Instance& instance, const StopCondition& stop)
      : problem_(problem),
        instance_(instance),
        stop_(stop),
        components_(StrongComponents(instance)) {
    Know(SearchLocally(instance, stop));
  }

  std::vector<Selection> Take(size_t count) {
    std::vector<Selection> taken;
    while (taken.size() < count && !frontier_.empty()) {
      const State state = frontier_.top();
      frontier_.pop();
      taken.push_back(ToSelection(problem_, instance_, state.choice));
      if (stop_.ShouldStop()) break;
      // No more of its neighbours than are still to come can be among them.
      if (taken.size() < count) KnowNeighbours(state, count - taken.size());
    }
    std::ranges::stable_sort(taken, {}, &Selection::cost);
    return taken;
  }

 private:
  struct State {
    double cost;
    uint64_t age;  // of equals the one that was known first
    std::vector<Node> choice;
    friend bool operator>(const State& a, const State& b) {
      return std::pair(a.cost, a.age) > std::pair(b.cost, b.age);
    }
  };
  struct Switch {
    double cost;
    Node node;
  };

  // Unless it is known. What nothing needs makes no difference.
  void Know(std::vector<Node> choice) {
    const Selection selection = ToSelection(problem_, instance_, choice);
    if (!known_.insert(selection.choice).second) return;
    frontier_.push({selection.cost, known_.size(), std::move(choice)});
  }

  void KnowNeighbours(const State& state, size_t most) {
    SharedSelection selection(instance_, components_, state.choice);
    std::vector<Switch> switches;
    for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
      if (stop_.ShouldStop()) return;
      if (!selection.live(Class(i)) || instance_.nodes[i].size() < 2) continue;
      selection.ForEachSwitch(Class(i), std::numeric_limits<double>::infinity(),
                              [&](Node node, const Score& score) {
                                switches.push_back({score.cost, node});
                              });
    }
    std::ranges::stable_sort(switches, {}, &Switch::cost);
    size_t made = 0;
    for (const Switch& each : switches) {
      if (made == most || stop_.ShouldStop()) return;
      const size_t mark = selection.Mark();
      if (!selection.Choose(each.node)) continue;
      const size_t known = known_.size();
      Know(selection.choices());
      made += known_.size() > known;
      selection.UndoTo(mark);
    }
  }

  const Problem& problem_;
  const Instance& instance_;
  const StopCondition& stop_;
  const std::vector<uint32_t> components_;
  std::priority_queue<State, std::vector<State>, std::greater<>> frontier_;
  absl::flat_hash_set<std::vector<ENodeId>> known_;
};

}  // namespace

absl::StatusOr<std::vector<Selection>> ExtractSeveral(const Problem& problem, size_t count,
                                                      const StopCondition& stop) {
  QUOTIENT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(problem));
  return Walk(problem, instance, stop).Take(std::max<size_t>(count, 1));
}

}  // namespace quotient::extract
