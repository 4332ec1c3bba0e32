#include "core/optimize/decide.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/eval/stop_error.h"
#include "core/timing/end_to_end.h"
#include "core/timing/lane.h"
#include "core/timing/probe.h"

namespace quotient::optimize {
namespace {

// A gain below this is not worth changing a model for, however sure it is.
constexpr double kLeastGain = 0.002;

report::Measured ToMeasured(const timing::RunStatistics& runs) {
  return {runs.median_us, runs.p10_us, runs.p90_us, runs.samples};
}

absl::StatusOr<std::unique_ptr<kernels::Executable>> Compile(
    kernels::Backend& backend, const kernels::PlanChoice& plans, const verify::CutGraph& original,
    const std::vector<model::Tensor>& inputs, const verify::CutGraph& cut) {
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<kernels::Executable> executable,
                            backend.CompileGraph(cut.graph, plans));
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Tensor> matched,
                            verify::MatchInputs(original, inputs, cut));
  // An executable wants only the inputs that something reads.
  absl::flat_hash_map<model::ValueId, size_t> position;
  for (size_t i = 0; i < cut.graph.inputs.size(); ++i) position.emplace(cut.graph.inputs[i], i);
  std::vector<model::Tensor> wanted;
  for (model::ValueId id : executable->input_values()) {
    const auto at = position.find(id);
    if (at == position.end()) return absl::InternalError("an input that the cut has not");
    wanted.push_back(matched[at->second]);
  }
  QUOTIENT_RETURN_IF_ERROR(executable->SetInputs(wanted));
  return executable;
}

// Once, and a look at what comes out.
absl::Status RunOnce(kernels::Executable& executable, const verify::CutGraph& cut,
                     const verify::Reference* reference, verify::DeviceArithmetic arithmetic) {
  QUOTIENT_RETURN_IF_ERROR(executable.Run());
  if (reference == nullptr) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Tensor> outputs, executable.GetOutputs());
  QUOTIENT_ASSIGN_OR_RETURN(
      const double norm, reference->CheckRun(cut, executable.output_values(), outputs, arithmetic));
  Log().info("what the device computes is off by {:.2e} of its norm", norm);
  return absl::OkStatus();
}

// The original and all candidates against each other; in the lane. Candidates that cannot be
// compiled, or run once, leave.
absl::StatusOr<timing::EndToEndResult> RunAll(
    const Prepared& original, const std::vector<model::Tensor>& inputs,
    const verify::Reference* reference, kernels::Backend& backend, const kernels::PlanChoice& plans,
    const MeasureOptions& options, const StopCondition& stop, std::vector<Packaged>* candidates,
    std::vector<std::string>* failures) {
  std::vector<std::unique_ptr<kernels::Executable>> owned;
  QUOTIENT_ASSIGN_OR_RETURN(owned.emplace_back(),
                            Compile(backend, plans, original.cut, inputs, original.cut));
  QUOTIENT_RETURN_IF_ERROR(RunOnce(*owned[0], original.cut, reference, options.arithmetic));
  std::vector<Packaged> kept;
  for (Packaged& candidate : *candidates) {
    auto compiled = Compile(backend, plans, original.cut, inputs, candidate.prepared.cut);
    const absl::Status ran =
        compiled.ok() ? RunOnce(**compiled, candidate.prepared.cut, reference, options.arithmetic)
                      : compiled.status();
    if (ran.ok()) {
      owned.push_back(*std::move(compiled));
      kept.push_back(std::move(candidate));
    } else {
      failures->push_back(std::string(ran.message()));
    }
  }
  *candidates = std::move(kept);
  std::vector<kernels::Executable*> executables;
  for (const auto& executable : owned) executables.push_back(executable.get());
  const timing::EndToEndOptions measuring{.budget_seconds = options.seconds,
                                          .least_gain = kLeastGain};
  const std::unique_ptr<timing::Probe> probe = timing::NewSystemProbe(options.threads);
  return timing::MeasureEndToEnd(executables, measuring, *probe, stop);
}

// The candidate with the smallest ratio among those that are surely faster, also by the medians
// that the report shows.
std::optional<size_t> Fastest(const timing::EndToEndResult& result) {
  std::optional<size_t> fastest;
  for (size_t i = 1; i < result.ratios.size(); ++i) {
    const timing::RatioStatistics& ratio = result.ratios[i];
    if (!ratio.surely_faster() || ratio.value > 1 - kLeastGain) continue;
    if (result.runs[i].median_us >= result.runs[0].median_us) continue;
    if (!fastest.has_value() || ratio.value < result.ratios[*fastest + 1].value) fastest = i - 1;
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

absl::Status KeepVerified(verify::Checker& checker, const StopCondition& stop,
                          std::vector<Packaged>* candidates, std::vector<std::string>* failures) {
  std::vector<Packaged> kept;
  absl::Status status;
  for (Packaged& candidate : *candidates) {
    absl::StatusOr<verify::Verdict> verdict =
        checker.Check({&candidate.prepared.model.graph, &candidate.prepared.cut}, stop);
    if (!verdict.ok() && stop.ShouldStop()) {
      status = eval::StopError(stop.Check());
      break;
    }
    if (!verdict.ok()) {
      failures->push_back(std::string(verdict.status().message()));
    } else if (!verdict->passed) {
      failures->push_back(verdict->failure);
    } else {
      candidate.verdict = *std::move(verdict);
      kept.push_back(std::move(candidate));
    }
  }
  *candidates = std::move(kept);
  return status;
}

absl::StatusOr<Decision> DecideByRunning(
    const Prepared& original, const std::vector<model::Tensor>& inputs,
    const verify::Reference* reference, kernels::Backend& backend, const kernels::PlanChoice& plans,
    const MeasureOptions& options, const StopCondition& stop, std::vector<Packaged>* candidates,
    std::vector<std::string>* failures) {
  absl::StatusOr<timing::EndToEndResult> ran;
  timing::RunInLane([&] {
    ran = RunAll(original, inputs, reference, backend, plans, options, stop, candidates, failures);
  });
  QUOTIENT_ASSIGN_OR_RETURN(const timing::EndToEndResult result, std::move(ran));
  Decision decision;
  decision.disturbed = result.contaminated;
  decision.original = ToMeasured(result.runs[0]);
  for (size_t i = 0; i < candidates->size(); ++i) {
    (*candidates)[i].measured = ToMeasured(result.runs[i + 1]);
    Log().info("candidate {}: {:.1f} us against {:.1f} us, ratio {:.4f} [{:.4f}, {:.4f}]", i,
               result.runs[i + 1].median_us, result.runs[0].median_us, result.ratios[i + 1].value,
               result.ratios[i + 1].interval.low, result.ratios[i + 1].interval.high);
  }
  decision.winner = Fastest(result);
  if (decision.winner.has_value()) {
    const timing::Interval& ratio = result.ratios[*decision.winner + 1].interval;
    decision.gain = report::PercentRange{100 * (1 - ratio.high), 100 * (1 - ratio.low)};
  }
  return decision;
}

Decision DecideByModel(const cost::GraphCost& original, const std::vector<Packaged>& candidates) {
  const EstimatedCounts of_original = EstimatedKernels(original);
  Decision decision;
  for (const bool by_estimates : {false, true}) {
    double best = original.total_us * (1 - kLeastGain);
    for (size_t i = 0; i < candidates.size(); ++i) {
      const cost::GraphCost& cost = candidates[i].cost;
      if (cost.total_us >= best || !Runs(cost)) continue;
      const EstimatedCounts estimated = EstimatedKernels(cost);
      if ((estimated != of_original) != by_estimates) continue;
      best = cost.total_us;
      decision.winner = i;
      decision.by_estimates = by_estimates;
    }
    if (decision.winner.has_value()) break;
  }
  return decision;
}

}  // namespace quotient::optimize
