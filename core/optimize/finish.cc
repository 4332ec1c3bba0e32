#include "core/optimize/finish.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/clock.h"
#include "core/optimize/notes.h"
#include "core/optimize/same_kernels.h"
#include "core/report/describe.h"
#include "core/report/gains.h"
#include "core/report/rule_figures.h"
#include "core/verify/compare.h"

namespace quotient::optimize {
namespace {

report::GraphFigures FiguresOf(const onnx::Model& model, const cost::GraphCost& cost,
                               const report::Measured& measured) {
  return {.nodes = NodeCount(model),
          .predicted_us = cost.total_us,
          .kernels = CountKernels(cost),
          .measured = measured};
}

double GainPercent(double before, double after) {
  return before > 0 ? (before - after) / before * 100 : 0;
}

void DescribeJob(const Job& job, Device& device, report::Report* report) {
  report->model_name = job.files.name;
  report->engine_version = std::string(EngineVersion());
  report->device = job.options.device;
  report->fingerprint = device.costs().fingerprint();
  report->measured = device.costs().measures();
  report->cut_nodes_run = device.runs_files();
  report->threads = device.costs().partition().threads;
  if (const timing::Snapshot* const snapshot = device.snapshot()) {
    report->recorded = {snapshot->device, timing::RecordedTime(*snapshot), snapshot->engine};
  }
}

void DescribeWinner(const Baseline& baseline, const verify::Checker& checker,
                    const onnx::Model& model, Winner& winner, report::Report* report) {
  const verify::Verdict& verdict = winner.candidate.verdict;
  Packaged& packaged = winner.candidate.packaged;
  report->outcome = report::Outcome::kImproved;
  report->optimized = FiguresOf(model, packaged.cost, winner.measured);
  report->verification = VerificationOf(checker, verdict);
  if (!verdict.never_finite.empty()) {
    report->notes.push_back(absl::StrCat(
        absl::StrJoin(verdict.never_finite, ", "),
        ": NaN or infinite throughout, on all inputs that were tried, so only where these stand "
        "was compared"));
  }
  report->speedup_interval = winner.gain;
  report->speedup_percent = winner.gain_percent;
  report->journal = std::move(packaged.journal);
  const report::CostedGraph before = {baseline.original.prepared.cut.graph, baseline.cost};
  const report::CostedGraph after = {packaged.prepared.cut.graph, packaged.cost};
  report::DescribeNodes(before, after, report);
  report->gains = report::GainsOf(before, after, packaged.names, report->journal);
  report::AddWorth(report->journal, report->gains, &report->rules);
}

// Returns what came in, byte for byte. The caller has the files of its external data already.
OptimizedModel KeepOriginal(const Job& job, const onnx::Model& model, report::Report* report) {
  report->outcome = report::Outcome::kNoImprovement;
  if (!job.options.shapes.empty()) {
    report->notes.emplace_back(
        "the model came back as it was, so the shapes that were asked for are not written in it");
  }
  if (model.frozen_initializers > 0) {
    report->notes.emplace_back(
        "the model came back as it was, so its initializers are still inputs");
  }
  return {.model = std::string(job.files.model)};
}

void DescribeKeptOriginal(const Baseline& baseline, report::Report* report) {
  const model::Graph& graph = baseline.original.prepared.cut.graph;
  report->optimized = report->original;
  report->verification = {.tolerance = verify::Tolerance(graph)};
  report::DescribeNodes({graph, baseline.cost}, {graph, baseline.cost}, report);
}

// `gain_is_predicted`: whether the predicted costs of both graphs can be compared.
void ComparePredictions(bool gain_is_predicted, report::Report* report) {
  report->predicted_speedup_percent.reset();
  if (gain_is_predicted) {
    report->predicted_speedup_percent =
        GainPercent(report->original.predicted_us, report->optimized.predicted_us);
  }
}

// `result`: null if the original itself is delivered.
void NoteObjections(const onnx::Model& original, const onnx::Model* result,
                    report::Report* report) {
  std::ranges::move(NotesOnObjections(original, result), std::back_inserter(report->notes));
}

}  // namespace

Result Finish(const Job& job, const Baseline& baseline, const OriginalChecker* checker,
              Decision decision, std::optional<Delivery> delivery, report::Report report) {
  const Clock& clock = job.environment.clock;
  const int64_t start = clock.NowNs();
  const Original& original = baseline.original;
  const onnx::Model& model = original.prepared.model;
  DescribeJob(job, *original.device, &report);
  report.original = FiguresOf(model, baseline.cost, decision.original);
  report.considered = std::move(decision.considered);
  Result result;
  const onnx::Model* delivered = nullptr;
  bool gain_is_predicted = true;
  if (delivery.has_value()) {
    gain_is_predicted = !report.measured ||
                        HaveSameEstimates(baseline.cost, decision.winner->candidate.packaged.cost);
    DescribeWinner(baseline, checker->checker, delivery->model, *decision.winner, &report);
    delivered = &delivery->model;
  } else {
    result.files = KeepOriginal(job, model, &report);
    DescribeKeptOriginal(baseline, &report);
  }
  ComparePredictions(gain_is_predicted, &report);
  NoteObjections(model, delivered, &report);
  if (delivered != nullptr) result.files = std::move(delivery->files);
  report.phase_seconds["report"] = clock.SecondsSince(start);
  result.report = std::move(report);
  return result;
}

Result FinishUntouched(const Job& job, Device& device, const onnx::Model& model,
                       const cost::GraphCost& cost, report::Report report) {
  const Clock& clock = job.environment.clock;
  const int64_t start = clock.NowNs();
  DescribeJob(job, device, &report);
  report.original = FiguresOf(model, cost, {});
  Result result = {.files = KeepOriginal(job, model, &report)};
  ComparePredictions(true, &report);
  NoteObjections(model, nullptr, &report);
  report.phase_seconds["report"] = clock.SecondsSince(start);
  result.report = std::move(report);
  return result;
}

}  // namespace quotient::optimize
