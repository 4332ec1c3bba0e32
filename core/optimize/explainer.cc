#include "core/optimize/explainer.h"

#include "core/explain/peak.h"
#include "core/report/gains.h"

namespace quotient::optimize {
namespace {

// Kernels for the peak take a second or two to be timed, once for a device.
constexpr double kMostSecondsForPeak = 5;

explain::RunModel ModelOf(const Prepared& prepared, const cost::GraphCost& cost) {
  return {.graph = prepared.cut.graph, .open = prepared.graph, .cost = cost};
}

explain::TriedGraph TriedAs(const Baseline& baseline, const Packaged& candidate) {
  const report::CostedGraph before = {baseline.original.prepared.cut.graph, baseline.cost};
  const report::CostedGraph after = {candidate.prepared.cut.graph, candidate.cost};
  return {.gains = report::GainsOf(before, after, candidate.names, candidate.journal),
          .journal = candidate.journal};
}

}  // namespace

void Explainer::LookAt(const Baseline& baseline, const PackagedCandidates& packaged) {
  if (!baseline.file_costs.has_value()) return;
  for (const Packaged& candidate : packaged.written) {
    tried_.push_back(TriedAs(baseline, candidate));
  }
  for (const std::vector<report::JournalEntry>& journal : packaged.without_effect) {
    tried_.push_back({.journal = journal});
  }
}

std::optional<report::Explanation> Explainer::Explain(const Baseline& baseline,
                                                      const Decision& decision) const {
  if (!baseline.file_costs.has_value()) return std::nullopt;
  const std::optional<report::Peak> peak = explain::MeasurePeak(
      baseline.costs(),
      job_.stop.WithoutDeadline().WithBudget(job_.environment.clock, kMostSecondsForPeak));
  const explain::RunModel original = ModelOf(baseline.original.prepared, baseline.cost);
  if (!decision.winner.has_value()) return explain::Explain(original, nullptr, tried_, peak);
  const Packaged& winner = decision.winner->candidate.packaged;
  std::vector<explain::TriedGraph> tried = tried_;
  tried.push_back(TriedAs(baseline, winner));
  tried.back().is_result = true;
  const explain::RunModel result = ModelOf(winner.prepared, winner.cost);
  return explain::Explain(original, &result, tried, peak);
}

}  // namespace quotient::optimize
