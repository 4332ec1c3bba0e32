#include "core/optimize/contest.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/optimize/evidence.h"
#include "core/optimize/subject.h"
#include "core/os/probe.h"

namespace quotient::optimize {
namespace {

// Where the time is only enough for a few runs, some more of them would not settle the question
// either. Judge then relies more on predictions.
constexpr int kFewestTurns = 3;
constexpr timing::EndToEndOptions kMeasuring{
    .min_turns = kFewestTurns, .least_gain = kLeastGain, .confidence = kContestConfidence};

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
                                                             const Subject& subject,
                                                             const kernels::Backend& backend,
                                                             const kernels::PlanChoice& plans) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Tensor> inputs,
                            verify::MatchInputs(context.original.cut, context.inputs, subject.cut));
  absl::StatusOr<std::unique_ptr<kernels::Executable>> executable =
      CompileSubject(subject, inputs, backend, plans);
  context.files.Release();  // Candidates refer to the weights there, too.
  return executable;
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
  QUOTIENT_ASSIGN_OR_RETURN(tried.executable,
                            Compile(context, subject, context.backend, context.plans));
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

// Runs the original and all candidates against each other. Must be called in the lane.
absl::StatusOr<Contest> RunAll(const MeasureContext& context, std::vector<Verified> candidates,
                               const timing::EndToEndOptions& measuring, const StopCondition& stop,
                               std::vector<std::string>* failures) {
  QUOTIENT_ASSIGN_OR_RETURN(const Tried original, CompileAndRunOnce(context, OriginalOf(context)));
  std::vector<Runnable> runnable = CompileAll(context, std::move(candidates), failures);
  std::vector<kernels::Executable*> executables = {original.executable.get()};
  for (const Runnable& each : runnable) executables.push_back(each.tried.executable.get());
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

// How graphs are run once more.
struct Anew {
  const kernels::Backend& backend;
  kernels::PlanChoice plans;
  int threads;
  timing::EndToEndOptions measuring;
};

// Compiles the contenders and the original, in that order, and runs them again. Returns the ratios
// of the contenders.
absl::StatusOr<std::vector<timing::RatioStatistics>> RunAnew(
    const MeasureContext& context, const Anew& how, const std::vector<Contender>& contenders,
    const StopCondition& stop) {
  std::vector<std::unique_ptr<kernels::Executable>> compiled(contenders.size() + 1);
  for (size_t i = contenders.size(); i > 0; --i) {
    const Subject subject = SubjectOf(contenders[i - 1].candidate.packaged);
    QUOTIENT_ASSIGN_OR_RETURN(compiled[i], Compile(context, subject, how.backend, how.plans));
  }
  QUOTIENT_ASSIGN_OR_RETURN(compiled[0],
                            Compile(context, OriginalOf(context), how.backend, how.plans));
  std::vector<kernels::Executable*> executables;
  for (const auto& executable : compiled) executables.push_back(executable.get());
  const std::unique_ptr<os::Probe> probe = os::NewSystemProbe(how.threads);
  QUOTIENT_ASSIGN_OR_RETURN(timing::EndToEndResult result,
                            timing::MeasureEndToEnd(executables, how.measuring, *probe, stop));
  result.ratios.erase(result.ratios.begin());
  return std::move(result.ratios);
}

absl::Status AddCpuTimes(const MeasureContext& context, const timing::EndToEndOptions& measuring,
                         const StopCondition& stop, Contest* contest) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, context.one_thread());
  const Anew how = {*device->backend(), device->plans(), 1, measuring};
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<timing::RatioStatistics> ratios,
                            RunAnew(context, how, contest->contenders, stop));
  for (size_t i = 0; i < ratios.size(); ++i) contest->contenders[i].cpu_time = ratios[i];
  return absl::OkStatus();
}

// Whether the runs of one of them surely show something else than what was predicted.
bool IsAnySurprising(const MeasureContext& context, const Contest& contest) {
  return std::ranges::any_of(contest.contenders, [&](const Contender& contender) {
    return IsSurprising(contender.ratio, kContestConfidence,
                        PredictionOf(context.cost, contender.candidate.packaged.cost));
  });
}

absl::Status RunAgain(const MeasureContext& context, const timing::EndToEndOptions& measuring,
                      const StopCondition& stop, Contest* contest) {
  const Anew how = {context.backend, context.plans, context.options.threads, measuring};
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<timing::RatioStatistics> ratios,
                            RunAnew(context, how, contest->contenders, stop));
  for (size_t i = 0; i < ratios.size(); ++i) {
    timing::RatioStatistics& ratio = contest->contenders[i].ratio;
    Log().info("candidate compiled anew: ratio {:.4f} [{:.4f}, {:.4f}] after {:.4f}",
               ratios[i].value, ratios[i].interval.low, ratios[i].interval.high, ratio.value);
    ratio = timing::Both(ratio, ratios[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Contest> RunContest(const MeasureContext& context, std::vector<Verified> candidates,
                                   const StopCondition& stop, std::vector<std::string>* failures) {
  timing::EndToEndOptions measuring = kMeasuring;
  measuring.budget_seconds = context.options.seconds;
  measuring.stops_if_contaminated = context.one_thread != nullptr;
  const int64_t start_ns = Clock::System().NowNs();
  QUOTIENT_ASSIGN_OR_RETURN(Contest contest,
                            RunAll(context, std::move(candidates), measuring, stop, failures));
  const auto spent = static_cast<double>(Clock::System().NowNs() - start_ns) * 1e-9;
  measuring.budget_seconds = std::max(0.0, context.options.seconds - spent);
  measuring.stops_if_contaminated = false;
  absl::Status again;
  if (contest.contenders.empty()) return contest;
  if (contest.contaminated) {
    if (context.one_thread != nullptr) again = AddCpuTimes(context, measuring, stop, &contest);
  } else if (measuring.budget_seconds > spent / 2 && IsAnySurprising(context, contest)) {
    again = RunAgain(context, measuring, stop, &contest);
  }
  if (absl::IsCancelled(again)) return again;
  if (!again.ok()) Log().info("graphs were not run again: {}", std::string(again.message()));
  return contest;
}

}  // namespace quotient::optimize
