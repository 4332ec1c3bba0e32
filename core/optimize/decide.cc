#include "core/optimize/decide.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/optimize/subject.h"
#include "core/os/probe.h"
#include "core/timing/end_to_end.h"

namespace quotient::optimize {
namespace {

// A gain below this is not worth changing a model for, however sure it is.
constexpr double kLeastGain = 0.002;

report::Measured ToMeasured(const timing::RunStatistics& runs, std::optional<double> error_norm) {
  return {runs.median_us, runs.p10_us, runs.p90_us, runs.samples, error_norm};
}

Subject OriginalOf(const MeasureContext& context) {
  return {context.original.model.graph,
          context.original.cut,
          {context.files.model, context.files.external_data, nullptr}};
}

Subject SubjectOf(const Packaged& packaged) {
  const onnx::WrittenModel& written = packaged.written->model;
  return {packaged.prepared.model.graph,
          packaged.prepared.cut,
          {written.bytes, written.weights, nullptr}};
}

absl::StatusOr<std::unique_ptr<kernels::Executable>> Compile(const MeasureContext& context,
                                                             const Subject& subject) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Tensor> inputs,
                            verify::MatchInputs(context.original.cut, context.inputs, subject.cut));
  return CompileSubject(subject, inputs, context.backend, context.plans);
}

// Runs once and looks at what comes out. Returns the relative norm of its error, or nullopt if
// there is nothing to compare it with.
absl::StatusOr<std::optional<double>> RunOnce(kernels::Executable& executable,
                                              const verify::CutGraph& cut,
                                              const MeasureContext& context) {
  QUOTIENT_RETURN_IF_ERROR(executable.Run());
  if (context.reference == nullptr) return std::nullopt;
  // A file is run with the nodes that the reference knows nothing of.
  if (context.backend.runs_files() && cut.cut_nodes > 0) return std::nullopt;
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Tensor> outputs, executable.GetOutputs());
  QUOTIENT_ASSIGN_OR_RETURN(const double norm,
                            context.reference->CheckRun(cut, executable.output_values(), outputs,
                                                        context.options.arithmetic));
  Log().info("what the device computes is off by {:.2e} of its norm", norm);
  return norm;
}

// A graph that can be run, and the relative norm of the error of what comes out.
struct Tried {
  std::unique_ptr<kernels::Executable> executable;
  std::optional<double> error_norm;
};

absl::StatusOr<Tried> CompileAndRunOnce(const MeasureContext& context, const Subject& subject) {
  Tried tried;
  QUOTIENT_ASSIGN_OR_RETURN(tried.executable, Compile(context, subject));
  QUOTIENT_ASSIGN_OR_RETURN(tried.error_norm, RunOnce(*tried.executable, subject.cut, context));
  return tried;
}

// A candidate that can be run.
struct Runnable {
  Verified candidate;
  Tried tried;
};

std::vector<Runnable> CompileAll(const MeasureContext& context, std::vector<Verified> candidates,
                                 std::vector<std::string>* failures) {
  std::vector<Runnable> runnable;
  for (Verified& candidate : candidates) {
    auto tried = CompileAndRunOnce(context, SubjectOf(candidate.packaged));
    if (tried.ok()) {
      runnable.push_back({std::move(candidate), *std::move(tried)});
    } else {
      failures->push_back(std::string(tried.status().message()));
    }
  }
  return runnable;
}

// A candidate that was run against the original.
struct Contender {
  Verified candidate;
  timing::RunStatistics runs;
  timing::RatioStatistics ratio;
  std::optional<double> error_norm;
};

struct Contest {
  timing::RunStatistics original;
  std::optional<double> original_error_norm;
  std::vector<Contender> contenders;
  bool contaminated = false;
};

// Runs the original and all candidates against each other. Must be called in the lane.
absl::StatusOr<Contest> RunAll(const MeasureContext& context, std::vector<Verified> candidates,
                               const StopCondition& stop, std::vector<std::string>* failures) {
  QUOTIENT_ASSIGN_OR_RETURN(const Tried original, CompileAndRunOnce(context, OriginalOf(context)));
  std::vector<Runnable> runnable = CompileAll(context, std::move(candidates), failures);
  std::vector<kernels::Executable*> executables = {original.executable.get()};
  for (const Runnable& each : runnable) executables.push_back(each.tried.executable.get());
  const timing::EndToEndOptions measuring{.budget_seconds = context.options.seconds,
                                          .least_gain = kLeastGain};
  const std::unique_ptr<os::Probe> probe = os::NewSystemProbe(context.options.threads);
  QUOTIENT_ASSIGN_OR_RETURN(const timing::EndToEndResult result,
                            timing::MeasureEndToEnd(executables, measuring, *probe, stop));
  Contest contest{.original = result.runs.front(),
                  .original_error_norm = original.error_norm,
                  .contaminated = result.contaminated};
  const auto runs = std::span(result.runs).subspan<1>();
  const auto ratios = std::span(result.ratios).subspan<1>();
  for (size_t i = 0; i < runnable.size(); ++i) {
    contest.contenders.push_back(
        {std::move(runnable[i].candidate), runs[i], ratios[i], runnable[i].tried.error_norm});
  }
  return contest;
}

void LogContest(const Contest& contest) {
  for (size_t i = 0; i < contest.contenders.size(); ++i) {
    const auto& [candidate, runs, ratio, error_norm] = contest.contenders[i];
    Log().info("candidate {}: {:.1f} us against {:.1f} us, ratio {:.4f} [{:.4f}, {:.4f}]", i,
               runs.median_us, contest.original.median_us, ratio.value, ratio.interval.low,
               ratio.interval.high);
  }
}

// Returns the candidate with the smallest ratio among those that are surely faster, also by the
// medians that the report shows. Null if there is none.
Contender* Fastest(Contest& contest) {
  Contender* fastest = nullptr;
  for (Contender& each : contest.contenders) {
    if (!each.ratio.surely_faster() || each.ratio.value > 1 - kLeastGain) continue;
    if (each.runs.median_us >= contest.original.median_us) continue;
    if (fastest == nullptr || each.ratio.value < fastest->ratio.value) fastest = &each;
  }
  return fastest;
}

// How often a graph has each kernel that nobody measured, by key.
using EstimatedCounts = std::map<std::string, int>;

EstimatedCounts EstimatedKernels(const cost::GraphCost& graph) {
  EstimatedCounts counts;
  for (size_t i = 0; i < graph.costs.size(); ++i) {
    if (graph.costs[i].source != cost::CostSource::kModel) continue;
    ++counts[kernels::KernelKey(graph.groups[i].spec)];
  }
  return counts;
}

bool Runs(const cost::GraphCost& graph) {
  return std::ranges::none_of(graph.costs, &cost::KernelCost::unsupported);
}

}  // namespace

MeasureOptions MeasureOptionsFor(const Job& job, const Device& device) {
  constexpr double kLeastSeconds = 10;
  MeasureOptions measuring{.threads = job.threads};
  measuring.seconds =
      std::min(measuring.seconds, std::max(kLeastSeconds, job.options.budget_seconds));
  measuring.arithmetic = device.arithmetic();
  return measuring;
}

size_t MostChallengers(const cost::GraphCost& original) {
  constexpr double kSlowUs = 50'000;
  constexpr size_t kOfSlow = 2;
  return original.total_us > kSlowUs ? kOfSlow : std::numeric_limits<size_t>::max();
}

absl::StatusOr<Decision> DecideByRunning(const MeasureContext& context,
                                         std::vector<Verified> candidates,
                                         const StopCondition& stop,
                                         std::vector<std::string>* failures) {
  absl::StatusOr<Contest> contest;
  context.lane.Run([&] { contest = RunAll(context, std::move(candidates), stop, failures); });
  QUOTIENT_RETURN_IF_ERROR(contest.status());
  LogContest(*contest);
  Decision decision{.original = ToMeasured(contest->original, contest->original_error_norm),
                    .disturbed = contest->contaminated};
  if (Contender* const fastest = Fastest(*contest)) {
    const timing::Interval& ratio = fastest->ratio.interval;
    decision.winner = {std::move(fastest->candidate),
                       ToMeasured(fastest->runs, fastest->error_norm),
                       report::PercentRange{100 * (1 - ratio.high), 100 * (1 - ratio.low)}};
  }
  return decision;
}

bool GainsByModel(const cost::GraphCost& original, const cost::GraphCost& candidate) {
  return candidate.total_us < original.total_us * (1 - kLeastGain) && Runs(candidate);
}

Decision DecideByModel(const cost::GraphCost& original, std::vector<Verified> candidates) {
  const EstimatedCounts of_original = EstimatedKernels(original);
  for (const bool by_estimates : {false, true}) {
    Verified* cheapest = nullptr;
    for (Verified& candidate : candidates) {
      const cost::GraphCost& cost = candidate.packaged.cost;
      if (!GainsByModel(original, cost)) continue;
      if (cheapest != nullptr && cost.total_us >= cheapest->packaged.cost.total_us) continue;
      const EstimatedCounts estimated = EstimatedKernels(cost);
      if ((estimated != of_original) != by_estimates) continue;
      cheapest = &candidate;
    }
    if (cheapest != nullptr) {
      return {.winner = Winner{.candidate = std::move(*cheapest)}, .by_estimates = by_estimates};
    }
  }
  return {};
}

}  // namespace quotient::optimize
