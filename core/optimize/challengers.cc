#include "core/optimize/challengers.h"

#include <algorithm>
#include <utility>

#include "core/optimize/candidates.h"
#include "core/optimize/decide.h"
#include "core/optimize/same_kernels.h"

namespace quotient::optimize {
namespace {

bool CanRun(const Baseline& baseline) { return baseline.original.device->backend() != nullptr; }

}  // namespace

std::vector<Packaged> ChooseChallengers(const Job& job, const Baseline& baseline,
                                        std::vector<Packaged> candidates) {
  const bool can_run = CanRun(baseline);
  if (can_run && !job.budget.IsExceeded()) return candidates;
  // Where nothing is run, predictions decide, so a candidate that gains nothing by them would never
  // be taken. Where the job is late already, only a gain that is predicted is worth being even
  // later for.
  std::erase_if(candidates, [&](const Packaged& candidate) {
    const bool is_known = !can_run || HaveSameEstimates(baseline.cost, candidate.cost);
    return !is_known || !GainsByModel(baseline.cost, candidate.cost);
  });
  return candidates;
}

size_t MostToCheck(const Job& job, const Baseline& baseline) {
  const auto fits = static_cast<size_t>(MostCandidates(baseline.original.alternatives));
  if (!CanRun(baseline)) return fits;
  return std::min(fits, MostChallengers(baseline.cost, job.budget.ForMeasuring()));
}

Compared CompareChallengers(const Job& job, const Baseline& baseline,
                            std::vector<Packaged> challengers, size_t most,
                            verify::Checker& checker) {
  if (most < challengers.size()) {
    std::ranges::stable_sort(challengers, {},
                             [](const Packaged& each) { return each.cost.total_us; });
  }
  const auto is_needless = [&](const Packaged& candidate, const std::vector<Verified>& agreeing) {
    return std::ranges::any_of(agreeing, [&](const Verified& other) {
      return TakeSameTime(baseline, candidate, other.packaged);
    });
  };
  // Where candidates are run, time has to be left for that.
  const StopCondition enough = CanRun(baseline) ? job.budget.ForChecks(job.stop) : job.stop;
  return Compare(checker, std::move(challengers), most, enough, job.stop, is_needless);
}

}  // namespace quotient::optimize
