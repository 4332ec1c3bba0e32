#include "core/optimize/graph_runs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/subject.h"
#include "core/os/files.h"
#include "core/os/probe.h"

namespace quotient::optimize {
namespace {

Subject OriginalOf(const MeasureContext& context) {
  return {context.original.model.graph,
          context.original.cut,
          {context.files.model, context.files.external_data, nullptr},
          context.original.model.kept_values};
}

Subject SubjectOf(const Packaged& packaged) {
  const onnx::WrittenModel& written = packaged.written->model;
  return {packaged.prepared.model.graph,
          packaged.prepared.cut,
          {written.bytes, written.weights, nullptr},
          packaged.prepared.model.kept_values};
}

absl::StatusOr<std::unique_ptr<kernels::Executable>> Compile(const MeasureContext& context,
                                                             const Subject& subject) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Tensor> inputs,
                            verify::MatchInputs(context.original.cut, context.inputs, subject.cut));
  absl::StatusOr<std::unique_ptr<kernels::Executable>> executable =
      CompileSubject(subject, inputs, context.backend, context.plans);
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

absl::StatusOr<Tried> CompileAndRunOnce(const MeasureContext& context, const Subject& subject) {
  Tried tried;
  QUOTIENT_ASSIGN_OR_RETURN(tried.executable, Compile(context, subject));
  QUOTIENT_ASSIGN_OR_RETURN(tried.error_norm, RunOnce(*tried.executable, subject.cut, context));
  return tried;
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
  std::vector<Runnable> runnable = TryAll(context, std::move(candidates), failures);
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

// RunAnew, of contenders that may all be loaded at a time.
absl::StatusOr<Ratios> RunGroupAnew(const MeasureContext& context,
                                    std::span<Contender* const> contenders,
                                    timing::EndToEndOptions measuring, int64_t deadline_ns,
                                    const StopCondition& stop) {
  std::vector<std::unique_ptr<kernels::Executable>> compiled(contenders.size());
  const auto compile = [&](const Subject& subject) {
    if (stop.cancelled()) {
      return absl::StatusOr<std::unique_ptr<kernels::Executable>>(
          MakeError(Reason::kCancelled, "cancelled while measuring"));
    }
    return Compile(context, subject);
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
  measuring.budget_seconds = SecondsUntil(deadline_ns);
  const std::unique_ptr<os::Probe> probe = os::NewSystemProbe(context.options.threads);
  QUOTIENT_ASSIGN_OR_RETURN(const timing::EndToEndResult result,
                            timing::MeasureEndToEnd(executables, measuring, *probe, stop));
  Ratios shown{.contaminated = result.contaminated};
  size_t next = 1;
  for (const auto& each : compiled) {
    shown.ratios.push_back(each != nullptr ? result.ratios[next++] : timing::RatioStatistics{});
  }
  return shown;
}

}  // namespace

absl::StatusOr<Tried> TryOriginal(const MeasureContext& context) {
  return CompileAndRunOnce(context, OriginalOf(context));
}

std::vector<Runnable> TryAll(const MeasureContext& context, std::vector<Verified> candidates,
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

absl::StatusOr<Contest> RunAll(const MeasureContext& context, const Tried& original,
                               std::vector<Verified> candidates,
                               const timing::EndToEndOptions& measuring, const StopCondition& stop,
                               std::vector<std::string>* failures) {
  Contest contest{.original_error_norm = original.error_norm};
  const size_t count = candidates.size();
  size_t first = 0;
  do {
    if (contest.contaminated && measuring.stops_if_contaminated) {
      contest.contenders.push_back({.candidate = std::move(candidates[first++])});
      continue;
    }
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

absl::StatusOr<Ratios> RunAnew(const MeasureContext& context,
                               std::span<Contender* const> contenders,
                               const timing::EndToEndOptions& measuring, int64_t deadline_ns,
                               const StopCondition& stop) {
  Ratios all;
  while (all.ratios.size() < contenders.size()) {
    const auto left = contenders.subspan(all.ratios.size());
    const auto group = left.first(std::min(MostAtOnce(context), left.size()));
    const int64_t now_ns = Clock::System().NowNs();
    const int64_t end_ns = now_ns + (deadline_ns - now_ns) * std::ssize(group) / std::ssize(left);
    QUOTIENT_ASSIGN_OR_RETURN(const Ratios shown,
                              RunGroupAnew(context, group, measuring, end_ns, stop));
    all.ratios.insert(all.ratios.end(), shown.ratios.begin(), shown.ratios.end());
    all.contaminated |= shown.contaminated;
  }
  return all;
}

double SecondsUntil(int64_t deadline_ns) {
  return std::max(0.0, static_cast<double>(deadline_ns - Clock::System().NowNs()) * 1e-9);
}

}  // namespace quotient::optimize
