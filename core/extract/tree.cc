#include "core/extract/tree.h"

#include "core/base/status_macros.h"
#include "core/extract/bottom_up.h"
#include "core/extract/to_selection.h"

namespace quotient::extract {

absl::StatusOr<Selection> TreeExtractor::Extract(const Problem& problem,
                                                 const StopCondition& /*stop*/) const {
  QUOTIENT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(problem));
  return ToSelection(problem, instance, MinimizeTreeCost(instance).choice);
}

}  // namespace quotient::extract
