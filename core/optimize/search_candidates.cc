#include "core/optimize/search_candidates.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/kernels/partition.h"
#include "core/optimize/decide.h"
#include "core/optimize/footprint.h"
#include "core/optimize/rewrite_surcharge.h"
#include "core/verify/bindings.h"

namespace quotient::optimize {
namespace {

// About what it takes to check one candidate, and to run it and the original a few times each.
double LateSeconds(const Job& job, const Baseline& baseline) {
  constexpr double kOperationsPerSecond = 1e10;  // Of the evaluator, on one core.
  // To write the weights of a candidate, and to load them and those of the original where they run.
  constexpr double kSecondsPerByte = 8e-9;
  const double evaluation =
      verify::OperationsOf(baseline.original.prepared.cut) / (kOperationsPerSecond * job.threads);
  const double checks = 2 * job.options.verify_inputs * evaluation;
  if (!baseline.costs().measures()) return checks;
  const double runs =
      std::max(kRunsOfRace * baseline.cost.total_us * 1e-6, job.budget.LeastForMeasuring());
  return checks + kSecondsPerByte * BytesOfConstants(baseline.original.prepared.cut.graph) + runs;
}

}  // namespace

SearchSettings SettingsToSearch(const Job& job, const Baseline& baseline) {
  const Prepared& prepared = baseline.original.prepared;
  return {
      .clock = job.environment.clock,
      .time = job.budget.ForSearch(LateSeconds(job, baseline)),
      .threads = job.threads,
      .max_opset = MaxOpset(job.options, prepared.model),
      .constant_footprint_log2 =
          kernels::ConstantFootprintLog2(prepared.cut.graph, baseline.costs().partition().storage),
      .families = job.families,
      .alternatives = baseline.original.alternatives,
      .surcharge = baseline.original.device->runs_files() ? kSurchargeInFiles : 0,
      .checkpoint = job.environment.checkpoint,
      .checkpoint_context = absl::StrCat(EngineVersion(), "\n", baseline.costs().fingerprint(),
                                         "\n", job.options.CanonicalText()),
  };
}

absl::StatusOr<Candidates> SearchCandidates(const Job& job, const Baseline& baseline,
                                            WhyNot& why_not, const SearchStageHook& hook) {
  SearchSettings settings = SettingsToSearch(job, baseline);
  const double seconds = std::max(settings.time->seconds, 1e-3);
  const Prepared& prepared = baseline.original.prepared;
  if (why_not.is_asked()) {
    settings.look = [&](GrownEGraph& grown, const std::vector<Candidate>& found,
                        const report::SearchFigures& figures) {
      why_not.LookAt({prepared, grown, found, figures, settings.max_opset});
    };
  }
  return Search(
      prepared.graph, prepared.measured, job.options, settings, baseline.costs(), job.stop,
      [&](const SearchProgress& now) { hook(std::min(1.0, now.seconds / seconds), now); });
}

}  // namespace quotient::optimize
