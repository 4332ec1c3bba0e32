#include "tests/bench/networks/network_run.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/optimize/prepared.h"

namespace quotient {
namespace {

// Steps fall, so the first one that is close enough is the earliest.
std::optional<double> SecondsToOnePercent(std::span<const report::SearchStep> steps) {
  const double enough = 1.01 * steps.back().cost_us;
  if (steps.front().cost_us <= enough) return std::nullopt;
  return std::ranges::find_if(steps, [&](const auto& step) { return step.cost_us <= enough; })
      ->seconds;
}

bool SameButForSeed(const NetworkRun& a, const NetworkRun& b) {
  return a.network == b.network && a.device == b.device && a.strategy == b.strategy;
}

// For devices that choose between several ways.
absl::Status CountWays(const optimize::ModelFiles& files, const optimize::OptimizedModel& result,
                       const optimize::Options& options, optimize::Device& device,
                       NetworkRun* run) {
  const int threads = options.ThreadsToUse();
  QUOTIENT_ASSIGN_OR_RETURN(const optimize::Prepared before,
                            optimize::Prepare(files, options, threads, StopCondition()));
  std::map<std::string, absl::string_view> external;
  if (!result.external_location.empty()) external[result.external_location] = result.external_data;
  QUOTIENT_ASSIGN_OR_RETURN(const optimize::Prepared after,
                            optimize::PrepareResult({result.model, external, nullptr},
                                                    before.shapes, threads, StopCondition()));
  QUOTIENT_ASSIGN_OR_RETURN(run->ways_before,
                            WaysOf(before.cut.graph, *device.backend(), *device.timings()));
  QUOTIENT_ASSIGN_OR_RETURN(run->ways_after,
                            WaysOf(after.cut.graph, *device.backend(), *device.timings()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NetworkRun> RunNetwork(const std::string& network, const optimize::ModelFiles& files,
                                      const optimize::Options& options,
                                      optimize::Devices& devices) {
  QUOTIENT_ASSIGN_OR_RETURN(
      optimize::Result result,
      optimize::Optimize(files, options, {.devices = &devices, .clock = Clock::System()},
                         StopCondition(), nullptr));
  report::Report& report = result.report;
  if (report.search.best_costs.empty()) {
    return absl::InternalError(absl::StrCat("no search: ", absl::StrJoin(report.notes, "; ")));
  }
  NetworkRun run = {.network = network,
                    .device = options.device,
                    .strategy = options.strategy,
                    .seed = options.seed,
                    .on_model = !report.measured,
                    .cost_before_us = report.original.predicted_us,
                    .cost_after_us = report.optimized.predicted_us};
  if (report.ran()) {
    const report::Measured &before = report.original.measured, &after = report.optimized.measured;
    // A busy machine tells no times.
    if (before.has_times()) run.measured_before_us = before.median_us;
    if (after.has_times()) run.measured_after_us = after.median_us;
    run.error_norm =
        std::max(report.original.measured.error_norm, report.optimized.measured.error_norm);
  }
  run.seconds = report.search.grow_seconds;
  run.seconds_to_1_percent = SecondsToOnePercent(report.search.best_costs);
  run.simulations = report.search.simulations;
  run.enodes = report.search.enodes;
  run.best_costs = std::move(report.search.best_costs);
  run.notes = std::move(report.notes);
  if (absl::StartsWith(options.device, "cuda")) {
    QUOTIENT_ASSIGN_OR_RETURN(const auto device,
                              devices.Get(options.device, options.ThreadsToUse()));
    QUOTIENT_RETURN_IF_ERROR(CountWays(files, result.files, options, *device, &run));
  }
  return run;
}

std::vector<SeedRuns> BySeeds(std::span<const NetworkRun> runs) {
  std::vector<SeedRuns> groups;
  for (const NetworkRun& run : runs) {
    const auto group = std::ranges::find_if(
        groups, [&](const SeedRuns& other) { return SameButForSeed(*other.front(), run); });
    if (group == groups.end()) {
      groups.push_back({&run});
    } else {
      group->push_back(&run);
    }
  }
  return groups;
}

}  // namespace quotient
