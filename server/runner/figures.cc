#include "server/runner/figures.h"

#include <optional>

namespace quotient::runner {
namespace {

std::optional<double> GainRatio(const report::Report& report) {
  if (report.outcome == report::Outcome::kNoImprovement) return 1;
  const std::optional<double> percent =
      report.knows_speedup() ? report.speedup_percent : report.predicted_speedup_percent;
  if (!percent.has_value()) return std::nullopt;
  return 1 - *percent / 100;
}

}  // namespace

void AddReport(const report::Report& report, v1::Figures* figures) {
  if (!report.passed_through.empty()) return;  // No optimization was tried.
  figures->set_simulations(report.search.simulations);
  figures->set_enodes(report.search.enodes);
  if (const std::optional<double> ratio = GainRatio(report); ratio.has_value()) {
    figures->set_gain_ratio(*ratio);
  }
}

void AddTimings(const TimingCounts& counts, double lane_wait_seconds, v1::Figures* figures) {
  figures->set_kernels_measured(counts.measured);
  figures->set_kernels_noisy(counts.noisy);
  figures->set_kernels_unsupported(counts.unsupported);
  figures->set_kernels_known(counts.known);
  figures->set_lane_wait_seconds(lane_wait_seconds);
}

}  // namespace quotient::runner
