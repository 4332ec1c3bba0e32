#include "core/extract/dag.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/base/status_macros.h"
#include "core/extract/bottom_up.h"
#include "core/extract/components.h"
#include "core/extract/local_search.h"
#include "core/extract/lower_bound.h"
#include "core/extract/shared_selection.h"
#include "core/extract/to_selection.h"

namespace quotient::extract {
namespace {

constexpr int kRestarts = 6;
// Restarts in a row without gain after which the rest is skipped.
constexpr int kMaxFruitless = 3;

// How many live classes could use a class at most, each by some e-node of its own.
std::vector<double> PossibleUses(const Instance& instance, const SharedSelection& selection) {
  std::vector<double> uses(instance.num_classes(), 0);
  for (uint32_t i = 0; i < instance.num_classes(); ++i) {
    Class last;
    for (Node parent : instance.parents[i]) {  // those of one class are neighbours
      const Class id = instance.class_of[parent.value()];
      if (id != last && selection.live(id)) ++uses[i];
      last = id;
    }
  }
  return uses;
}

// What a start expects of sharing: between what the best selection has and what there could be.
std::vector<double> ExpectedUses(const Instance& instance, const SharedSelection& best,
                                 double optimism) {
  std::vector<double> uses = PossibleUses(instance, best);
  for (uint32_t i = 0; i < uses.size(); ++i) {
    const double now = std::max(1.0, static_cast<double>(best.uses(Class(i))));
    const double possible = std::max(now, uses[i]);
    uses[i] = now * std::pow(possible / now, optimism);
  }
  return uses;
}

bool Improves(const Score& next, const Score& best) {
  if (next.num_recomputed != best.num_recomputed) return next.num_recomputed < best.num_recomputed;
  return next.cost < best.cost * (1 - kRelativeTolerance);
}

}  // namespace

std::vector<Node> SearchLocally(const Instance& instance, const StopCondition& stop) {
  const std::vector<uint32_t> components = StrongComponents(instance);
  const auto start = [&](const BottomUpResult& from) {
    return std::make_unique<SharedSelection>(instance, components, from.choice);
  };
  auto best = start(MinimizeTreeCost(instance));
  LocalSearch(instance, *best, stop).Run();
  int fruitless = 0;
  for (int i = 0; i < kRestarts && fruitless < kMaxFruitless && !stop.ShouldStop(); ++i) {
    const double optimism = static_cast<double>(i) / (kRestarts - 1);
    const std::vector<double> uses = ExpectedUses(instance, *best, optimism);
    auto next = start(MinimizeSharedCost(instance, uses));
    LocalSearch(instance, *next, stop).Run();
    ++fruitless;
    if (!Improves(next->score(), best->score())) continue;
    best = std::move(next);
    fruitless = 0;
  }
  return best->choices();
}

absl::StatusOr<Selection> DagExtractor::Choose(const Problem& problem,
                                               const StopCondition& stop) const {
  QUOTIENT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(problem));
  Selection selection = ToSelection(problem, instance, SearchLocally(instance, stop));
  selection.lower_bound = LowerBound(instance);
  return selection;
}

}  // namespace quotient::extract
