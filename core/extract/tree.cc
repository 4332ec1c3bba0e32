#include "core/extract/tree.h"

#include "core/extract/bottom_up.h"
#include "core/extract/to_selection.h"

namespace quotient::extract {

absl::StatusOr<Selection> TreeExtractor::Choose(const Problem& problem,
                                                const StopCondition& /*stop*/) const {
  // Classes that cannot be derived are never settled, so they need not be removed first.
  const Instance instance = MakeReachableInstance(problem);
  const BottomUpResult result = MinimizeTreeCost(instance);
  for (const Class root : instance.roots) {
    if (!result.choice[root.value()].valid()) return NoSelection(instance, root);
  }
  return ToSelection(problem, instance, result.choice);
}

}  // namespace quotient::extract
