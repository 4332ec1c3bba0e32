#include "core/extract/dag.h"

#include "core/base/status_macros.h"
#include "core/extract/blockwise.h"
#include "core/extract/instance.h"
#include "core/extract/lower_bound.h"
#include "core/extract/to_selection.h"

namespace quotient::extract {

absl::StatusOr<Selection> DagExtractor::Choose(const Problem& problem,
                                               const StopCondition& stop) const {
  QUOTIENT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(problem));
  BlockMemory memory;
  Selection selection = ToSelection(problem, instance, ChooseBlockwise(instance, memory, stop));
  selection.lower_bound = LowerBound(instance);
  return selection;
}

absl::StatusOr<Selection> DagExtractor::ChooseAgain(const Problem& problem, BlockMemory& memory,
                                                    const StopCondition& stop) const {
  QUOTIENT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(problem));
  return ToSelection(problem, instance, ChooseBlockwise(instance, memory, stop));
}

}  // namespace quotient::extract
