#include "core/optimize/contest.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/evidence.h"
#include "core/optimize/memory.h"
#include "core/optimize/subject.h"
#include "core/os/files.h"
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
  os::ReleaseMappedFiles();  // Candidates refer to the weights there, too.
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

// How many candidates are loaded beside the original.
size_t MostAtOnce(const MeasureContext& context) {
  return std::max<size_t>(context.options.graphs_at_once, 2) - 1;
}

// Runs candidates against the original, and adds what came of it to the contest.
absl::Status RunGroup(const MeasureContext& context, const Tried& original,
                      std::vector<Verified> candidates, const timing::EndToEndOptions& measuring,
                      const StopCondition& stop, std::vector<std::string>* failures,
                      Contest* contest) {
  std::vector<Runnable> runnable = CompileAll(context, std::move(candidates), failures);
  std::vector<kernels::Executable*> executables = {original.executable.get()};
  for (const Runnable& each : runnable) executables.push_back(each.tried.executable.get());
  const std::unique_ptr<os::Probe> probe = os::NewSystemProbe(context.options.threads);
  QUOTIENT_ASSIGN_OR_RETURN(const timing::EndToEndResult result,
                            timing::MeasureEndToEnd(executables, measuring, *probe, stop));
  if (contest->contenders.empty()) contest->original = result.runs.front();
  contest->contaminated |= result.contaminated;
  const auto runs = std::span(result.runs).subspan<1>();
  const auto ratios = std::span(result.ratios).subspan<1>();
  for (size_t i = 0; i < runnable.size(); ++i) {
    contest->contenders.push_back(
        {std::move(runnable[i].candidate), runs[i], ratios[i], runnable[i].tried.error_norm});
  }
  return absl::OkStatus();
}

// Runs the original and all candidates against each other, as many at a time as may be loaded. Must
// be called in the lane.
absl::StatusOr<Contest> RunAll(const MeasureContext& context, std::vector<Verified> candidates,
                               const timing::EndToEndOptions& measuring, const StopCondition& stop,
                               std::vector<std::string>* failures) {
  QUOTIENT_ASSIGN_OR_RETURN(const Tried original, CompileAndRunOnce(context, OriginalOf(context)));
  Contest contest{.original_error_norm = original.error_norm};
  const size_t count = candidates.size();
  size_t first = 0;
  do {
    const size_t size = std::min(MostAtOnce(context), count - first);
    const auto begin = std::make_move_iterator(candidates.begin() + static_cast<long>(first));
    std::vector<Verified> group(begin, begin + static_cast<long>(size));
    timing::EndToEndOptions share = measuring;
    if (size < count) {
      share.budget_seconds *= static_cast<double>(size) / static_cast<double>(count);
    }
    const absl::Status ran =
        RunGroup(context, original, std::move(group), share, stop, failures, &contest);
    if (!ran.ok() && (absl::IsCancelled(ran) || contest.contenders.empty())) return ran;
    if (!ran.ok()) {
      // What the groups before have shown is there.
      failures->push_back(std::string(ran.message()));
      break;
    }
    first += size;
  } while (first < count);
  return contest;
}

// How graphs are run once more. Compiling counts as a part of the time.
struct Rerun {
  const kernels::Backend& backend;
  kernels::PlanChoice plans;
  int threads;
  int64_t deadline_ns;
};

// What runs of contenders show: ratios in their order, without pairs for one that cannot be run.
struct Ratios {
  std::vector<timing::RatioStatistics> ratios;
  bool contaminated = false;
};

// Compiles these contenders and then the original, in another order than RunAll does, and runs them
// again.
absl::StatusOr<Ratios> RunGroupAnew(const MeasureContext& context, const Rerun& how,
                                    std::span<Contender* const> contenders,
                                    const StopCondition& stop) {
  std::vector<std::unique_ptr<kernels::Executable>> compiled(contenders.size());
  const auto compile = [&](const Subject& subject) {
    if (stop.cancelled()) {
      return absl::StatusOr<std::unique_ptr<kernels::Executable>>(
          MakeError(Reason::kCancelled, "cancelled while measuring"));
    }
    return Compile(context, subject, how.backend, how.plans);
  };
  for (size_t i = contenders.size(); i > 0; --i) {
    auto executable = compile(SubjectOf(contenders[i - 1]->candidate.packaged));
    if (executable.ok()) compiled[i - 1] = *std::move(executable);
  }
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<kernels::Executable> original,
                            compile(OriginalOf(context)));
  std::vector<kernels::Executable*> executables = {original.get()};
  for (const auto& each : compiled) {
    if (each != nullptr) executables.push_back(each.get());
  }
  timing::EndToEndOptions measuring = kMeasuring;
  measuring.budget_seconds =
      std::max(0.0, static_cast<double>(how.deadline_ns - Clock::System().NowNs()) * 1e-9);
  const std::unique_ptr<os::Probe> probe = os::NewSystemProbe(how.threads);
  QUOTIENT_ASSIGN_OR_RETURN(const timing::EndToEndResult result,
                            timing::MeasureEndToEnd(executables, measuring, *probe, stop));
  Ratios shown{.contaminated = result.contaminated};
  size_t next = 1;
  for (const auto& each : compiled) {
    shown.ratios.push_back(each != nullptr ? result.ratios[next++] : timing::RatioStatistics{});
  }
  return shown;
}

// The same for any number of contenders, as many at a time as may be loaded.
absl::StatusOr<Ratios> RunAnew(const MeasureContext& context, const Rerun& how,
                               std::span<Contender* const> contenders, const StopCondition& stop) {
  Ratios all;
  while (all.ratios.size() < contenders.size()) {
    const auto left = contenders.subspan(all.ratios.size());
    const auto group = left.first(std::min(MostAtOnce(context), left.size()));
    Rerun share = how;
    const int64_t now_ns = Clock::System().NowNs();
    share.deadline_ns = now_ns + (how.deadline_ns - now_ns) * std::ssize(group) / std::ssize(left);
    QUOTIENT_ASSIGN_OR_RETURN(const Ratios shown, RunGroupAnew(context, share, group, stop));
    all.ratios.insert(all.ratios.end(), shown.ratios.begin(), shown.ratios.end());
    all.contaminated |= shown.contaminated;
  }
  return all;
}

std::vector<Contender*> All(Contest* contest) {
  std::vector<Contender*> all;
  for (Contender& contender : contest->contenders) all.push_back(&contender);
  return all;
}

// Runs all of them on one thread.
absl::Status AddCpuTimes(const MeasureContext& context, int64_t deadline_ns,
                         const StopCondition& stop, Contest* contest) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, context.one_thread());
  const Rerun how = {*device->backend(), device->plans(), 1, deadline_ns};
  QUOTIENT_ASSIGN_OR_RETURN(const Ratios result, RunAnew(context, how, All(contest), stop));
  for (size_t i = 0; i < result.ratios.size(); ++i) {
    contest->contenders[i].cpu_time = result.ratios[i];
  }
  return absl::OkStatus();
}

// Whether the fewest turns of all of them on one thread fit into the time, or take no longer than
// the first runs might: these were in vain.
bool HasTimeForOneThread(const MeasureContext& context, const Contest& contest,
                         int64_t deadline_ns) {
  const auto graphs = static_cast<double>(contest.contenders.size() + 1);
  const double turn_us = graphs * contest.original.min_us * context.options.threads;
  const auto left_us = static_cast<double>(deadline_ns - Clock::System().NowNs()) * 1e-3;
  return (1 + kFewestTurns) * turn_us < std::max(left_us, context.options.seconds * 1e6);
}

// Nothing is known of what they take.
void ForgetRuns(Contest* contest) {
  for (Contender& contender : contest->contenders) {
    contender.cpu_time = timing::RatioStatistics{};
  }
}

// The contenders whose runs show surely what is far from what was predicted.
std::vector<Contender*> Surprising(const MeasureContext& context, Contest* contest) {
  std::vector<Contender*> surprising = All(contest);
  std::erase_if(surprising, [&](const Contender* contender) {
    return !IsSurprising(contender->ratio, kContestConfidence,
                         PredictionOf(context.cost, contender->candidate.packaged.cost));
  });
  return surprising;
}

// Runs some of the contenders again. If `replaces`, what they showed before is forgotten.
absl::Status RunAgain(const MeasureContext& context, const std::vector<Contender*>& contenders,
                      bool replaces, int64_t deadline_ns, const StopCondition& stop,
                      Contest* contest) {
  const Rerun how = {context.backend, context.plans, context.options.threads, deadline_ns};
  QUOTIENT_ASSIGN_OR_RETURN(const Ratios result, RunAnew(context, how, contenders, stop));
  contest->contaminated |= result.contaminated;
  for (size_t i = 0; i < contenders.size(); ++i) {
    timing::RatioStatistics& ratio = contenders[i]->ratio;
    Log().info("compiled anew: ratio {:.4f} [{:.4f}, {:.4f}] after {:.4f}", result.ratios[i].value,
               result.ratios[i].interval.low, result.ratios[i].interval.high, ratio.value);
    if (replaces) {
      ratio = result.ratios[i];
    } else if (result.ratios[i].pairs > 0) {
      ratio = timing::Pooled(ratio, result.ratios[i]);
    }
  }
  return absl::OkStatus();
}

// Runs once more what the first runs do not tell.
absl::Status RunOnceMore(const MeasureContext& context, int64_t start_ns, const StopCondition& stop,
                         Contest* contest) {
  const int64_t deadline_ns = start_ns + static_cast<int64_t>(context.options.seconds * 1e9);
  const int64_t now_ns = Clock::System().NowNs();
  if (contest->contaminated && context.one_thread != nullptr) {
    if (!HasTimeForOneThread(context, *contest, deadline_ns)) {
      ForgetRuns(contest);
      return absl::OkStatus();
    }
    const absl::Status status = AddCpuTimes(context, deadline_ns, stop, contest);
    if (status.ok() || absl::IsCancelled(status)) return status;
    Log().warn("CPU times are not known: {}", std::string(status.message()));
    return RunAgain(context, All(contest), /*replaces=*/true, deadline_ns, stop, contest);
  }
  // It takes about as long again, so it is begun only if there is half of that.
  if (contest->contaminated || deadline_ns - now_ns < (now_ns - start_ns) / 2) {
    return absl::OkStatus();
  }
  const std::vector<Contender*> surprising = Surprising(context, contest);
  if (surprising.empty()) return absl::OkStatus();
  return RunAgain(context, surprising, /*replaces=*/false, deadline_ns, stop, contest);
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
  if (contest.contenders.empty()) return contest;
  // What the first runs have shown is there, whatever happens to the others.
  const absl::Status again =
      WithinMemory([&] { return RunOnceMore(context, start_ns, stop, &contest); },
                   [] { return absl::ResourceExhaustedError("no memory is left"); });
  if (absl::IsCancelled(again)) return again;
  if (!again.ok()) Log().warn("graphs were not run again: {}", std::string(again.message()));
  return contest;
}

}  // namespace quotient::optimize
