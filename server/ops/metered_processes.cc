// Metrics of the processes of jobs, and of what these tell of their work.

#include "absl/strings/string_view.h"
#include "server/ops/metered.h"

namespace quotient::ops {
namespace {

absl::string_view FateName(runner::ProcessFate fate) {
  switch (fate) {
    case runner::ProcessFate::kOk:
      return "ok";
    case runner::ProcessFate::kError:
      return "error";
    case runner::ProcessFate::kDied:
      return "died";
    case runner::ProcessFate::kKilled:
      return "killed";
  }
  return "killed";
}

}  // namespace

void CountProcess(const runner::ProcessEnd& end, Metrics* metrics) {
  metrics->Add(MetricId::kJobProcesses, {FateName(end.fate)});
  if (end.memory_bytes == 0) return;
  metrics->Observe(MetricId::kJobProcessMemory, {}, static_cast<double>(end.memory_bytes));
}

void CountFigures(const runner::v1::Figures& figures, Metrics* metrics) {
  const auto add = [metrics](MetricId id, LabelValues labels, int64_t count) {
    metrics->Add(id, labels, static_cast<double>(count));
  };
  add(MetricId::kSearchSimulations, {}, figures.simulations());
  add(MetricId::kSearchEnodes, {}, figures.enodes());
  add(MetricId::kTimingMeasurements, {"measured"}, figures.kernels_measured());
  add(MetricId::kTimingMeasurements, {"noisy"}, figures.kernels_noisy());
  add(MetricId::kTimingMeasurements, {"unsupported"}, figures.kernels_unsupported());
  add(MetricId::kTimingMeasurements, {"hit"}, figures.kernels_known());
  metrics->Add(MetricId::kLaneWaitSeconds, {}, figures.lane_wait_seconds());
  if (figures.has_gain_ratio()) metrics->Observe(MetricId::kJobGain, {}, figures.gain_ratio());
}

}  // namespace quotient::ops
