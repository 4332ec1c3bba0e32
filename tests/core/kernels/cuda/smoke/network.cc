// A whole network, by the plans that are fastest.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "core/eval/evaluator.h"
#include "core/kernels/attention.h"
#include "core/kernels/fusion.h"
#include "core/kernels/partition.h"
#include "core/timing/lane.h"
#include "core/timing/service.h"
#include "core/timing/statistics.h"
#include "core/verify/compare.h"
#include "core/verify/random_inputs.h"
#include "tests/core/kernels/cuda/smoke/smoke.h"

namespace quotient::kernels::cuda::smoke {
namespace {

constexpr int kRuns = 200;

// What the plans of a graph's kernels come to.
struct Plans {
  double predicted_us = 0;
  std::map<std::string, int> ways;  // how many kernels run by each program
  int without_time = 0;
  std::string on_host;  // a contraction that runs there
};

Plans Count(const std::vector<KernelGroup>& groups, const timing::TimingService& service) {
  Plans plans;
  for (const KernelGroup& group : groups) {
    if (group.spec.free) continue;
    const std::optional<timing::Timing> timing = service.Find(group.spec);
    if (!timing.has_value() || !timing->has_time()) {
      ++plans.without_time;
      continue;
    }
    const std::string program = ProgramOf(timing->plan);
    ++plans.ways[program];
    plans.predicted_us += timing->min_us;
    const bool is_contraction = IsContraction(group.spec.op) || group.spec.op == kAttentionOp;
    if (is_contraction && program == "host") plans.on_host = group.spec.op;
  }
  return plans;
}

struct Run {
  double error = 0;  // the largest norm of an output's, relative
  double median_us = 0;
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
  std::vector<double> samples;
  for (int i = 0; i < kRuns; ++i) {
    QUOTIENT_RETURN_IF_ERROR(executable->Run());
    if (executable->reading().has_value()) samples.push_back(executable->reading()->us);
  }
  if (samples.empty()) return absl::InternalError("nothing of it is timed");
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Tensor> outputs, executable->GetOutputs());
  Run run{.median_us = timing::Median(samples)};
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
  const auto service = timing::NewTimingService(
      &backend, store, &lane, {.batch_keys = 8, .threads = threads, .prepare_threads = threads});
  for (const KernelGroup& group : groups) {
    if (!group.spec.free) service->Get(group.spec);
  }
  service->Wait({});
  const Plans plans = Count(groups, *service);
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
                  absl::StrFormat("%.1f us, measured %.1f us (%.2f times)", plans.predicted_us,
                                  run->median_us, run->median_us / plans.predicted_us),
                  plans.without_time == 0});
  if (plans.without_time > 0) {
    absl::StrAppend(&rows.back().text, ", ", plans.without_time, " kernels have no time");
  }
  Row ways{"ways", ""};
  for (const auto& [program, count] : plans.ways) {
    absl::StrAppend(&ways.text, ways.text.empty() ? "" : ", ", count, " ", program);
  }
  if (!plans.on_host.empty()) {
    ways.passed = false;
    absl::StrAppend(&ways.text, "; on the host: ", plans.on_host);
  }
  rows.push_back(std::move(ways));
  return rows;
}

}  // namespace quotient::kernels::cuda::smoke
