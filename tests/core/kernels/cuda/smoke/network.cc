// A whole network, by the plans that are fastest.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "core/eval/evaluator.h"
#include "core/kernels/partition.h"
#include "core/timing/lane.h"
#include "core/timing/service.h"
#include "core/timing/statistics.h"
#include "core/verify/compare.h"
#include "core/verify/random_inputs.h"
#include "tests/core/kernels/cuda/smoke/awake.h"
#include "tests/core/kernels/cuda/smoke/smoke.h"
#include "tests/support/kernel_ways.h"

namespace quotient::kernels::cuda::smoke {
namespace {

constexpr int kRuns = 200;

struct Run {
  double error = 0;  // the largest norm of an output's, relative
  double median_us = 0;
  bool is_awake = true;  // False if the median is of runs at a low clock.
};

absl::StatusOr<Run> RunGraph(const model::Graph& graph, const Backend& backend,
                             const PlanChoice& plans, int threads) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto executable, backend.CompileGraph(graph, plans));
  const std::vector<model::Tensor> drawn = verify::RandomInputs(graph, 1);
  std::vector<model::Tensor> inputs;
  eval::ValueMap given;
  for (const model::ValueId id : executable->input_values()) {
    const auto at = std::find(graph.inputs.begin(), graph.inputs.end(), id);
    if (at == graph.inputs.end()) return absl::InternalError("a graph that is cut");
    inputs.push_back(drawn[at - graph.inputs.begin()]);
    given.insert_or_assign(id, inputs.back());
  }
  const std::vector<model::ValueId>& values = executable->output_values();
  QUOTIENT_ASSIGN_OR_RETURN(const auto expected, eval::Evaluate(graph, given, values, threads));
  QUOTIENT_RETURN_IF_ERROR(executable->SetInputs(inputs));
  QUOTIENT_RETURN_IF_ERROR(RunAwake(*executable, [&] { return executable->Run(); }));
  std::vector<double> clean, others;
  for (int i = 0; i < kRuns; ++i) {
    QUOTIENT_RETURN_IF_ERROR(executable->Run());
    const std::optional<DeviceReading> reading = executable->reading();
    if (reading.has_value()) (reading->clean ? clean : others).push_back(reading->us);
  }
  if (clean.empty() && others.empty()) return absl::InternalError("nothing of it is timed");
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Tensor> outputs, executable->GetOutputs());
  Run run{.median_us = timing::Median(clean.empty() ? others : clean), .is_awake = !clean.empty()};
  for (size_t i = 0; i < outputs.size(); ++i) {
    run.error = std::max(run.error, verify::RelativeNorm(expected.at(values[i]), outputs[i]));
  }
  return run;
}

}  // namespace

absl::StatusOr<Rows> NetworkRows(const model::Graph& graph, const Backend& backend,
                                 double tolerance, int threads, timing::TimingStore* store) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<KernelGroup> groups,
                            PartitionGraph(graph, backend.partition()));
  timing::Lane lane;
  const auto service =
      timing::NewTimingService(&backend, store, &lane, {.batch_keys = 8, .threads = threads});
  for (const KernelGroup& group : groups) {
    if (!group.spec.free) service->Get(group.spec);
  }
  service->Wait({});
  QUOTIENT_ASSIGN_OR_RETURN(const KernelWays ways, WaysOf(graph, backend, *service));
  absl::StatusOr<Run> run;
  lane.Run([&] {
    const PlanChoice choice = [&](const KernelSpec& spec) {
      const std::optional<timing::Timing> timing = service->Find(spec);
      return timing.has_value() ? timing->plan : std::string();
    };
    run = RunGraph(graph, backend, choice, threads);
  });
  QUOTIENT_RETURN_IF_ERROR(run.status());
  Rows rows;
  rows.push_back(
      {"error", absl::StrFormat("%.2e of the norm", run->error), run->error <= tolerance});
  rows.push_back({"predicted",
                  absl::StrFormat("%.1f us, measured %.1f us (%.2f times)", ways.predicted_us,
                                  run->median_us, run->median_us / ways.predicted_us),
                  ways.without_time == 0});
  if (!run->is_awake) absl::StrAppend(&rows.back().text, " at a low clock");
  rows.push_back({"ways", ways.Text(), ways.contractions_on_host.empty()});
  return rows;
}

}  // namespace quotient::kernels::cuda::smoke
