#include "core/extract/ilp.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/status_macros.h"
#include "core/extract/branch_and_cut.h"
#include "core/extract/dag.h"
#include "core/extract/ilp_presolve.h"
#include "core/extract/instance.h"
#include "core/extract/to_selection.h"

namespace quotient::extract {
namespace {

// Relative difference by which solutions must be cheaper: the solver's tolerance.
constexpr double kTolerance = 1e-9;

}  // namespace

absl::StatusOr<Selection> IlpExtractor::Choose(const Problem& problem,
                                               const StopCondition& stop) const {
  QUOTIENT_ASSIGN_OR_RETURN(Selection best, DagExtractor().Extract(problem, stop));
  const double cutoff = best.cost * (1 - kTolerance);
  if (best.lower_bound >= cutoff || stop.ShouldStop()) return best;
  QUOTIENT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(problem));
  const std::optional<Instance> reduced = Presolve(instance, cutoff, stop);
  double lower_bound = cutoff;
  if (reduced.has_value()) {
    BranchAndCutResult result = BranchAndCut(*reduced, cutoff, stop);
    lower_bound = result.lower_bound;
    if (result.choice.has_value()) {
      Selection found = ToSelection(problem, *reduced, *result.choice);
      found.lower_bound = best.lower_bound;
      if (found.cost < best.cost) best = std::move(found);
    }
  }
  best.lower_bound = std::max(best.lower_bound, std::min(lower_bound, cutoff));
  return best;
}

}  // namespace quotient::extract
