// Metrics of jobs: an observer of the ledger and a decorator of the runner.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "core/base/reason.h"
#include "core/kernels/device_name.h"
#include "core/optimize/options.h"
#include "core/report/report.h"
#include "server/ops/metered.h"

namespace quotient::ops {
namespace {

using jobs::JobState;

absl::string_view DispositionName(jobs::Disposition disposition) {
  switch (disposition) {
    case jobs::Disposition::kNew:
      return "new";
    case jobs::Disposition::kJoined:
      return "joined";
    case jobs::Disposition::kCacheHit:
      return "cache_hit";
  }
  return "new";
}

absl::string_view CauseName(jobs::RemovalCause cause) {
  switch (cause) {
    case jobs::RemovalCause::kAge:
      return "age";
    case jobs::RemovalCause::kSpace:
      return "space";
    case jobs::RemovalCause::kRequest:
      return "request";
  }
  return "request";
}

class JobMeter : public jobs::JobObserver {
 public:
  explicit JobMeter(Metrics* metrics) : metrics_(*metrics) {}

  void OnTransition(const jobs::Job& job, const jobs::Transition& transition) override {
    const bool changes = transition.from != transition.to;
    const bool first_claim = changes && transition.to == JobState::kRunning && job.lease_epoch == 1;
    if (first_claim) {
      metrics_.Observe(MetricId::kJobQueueSeconds, {},
                       static_cast<double>(job.start_ms - job.create_ms) / 1000);
    }
    const bool was_running =
        transition.from == JobState::kRunning || transition.from == JobState::kCancelling;
    if (changes && was_running && transition.to != JobState::kCancelling) {
      metrics_.Add(MetricId::kJobAttempts, {AttemptEnd(transition)});
    }
    if (IsTerminal(transition.to)) {
      const std::optional<Reason> reason = GetReason(job.error);
      metrics_.Add(MetricId::kJobsFinished, {absl::AsciiStrToLower(JobStateName(transition.to)),
                                             reason.has_value() ? ReasonName(*reason) : ""});
    }
  }

  void OnSubmission(const jobs::Job& /*job*/, jobs::Disposition disposition) override {
    metrics_.Add(MetricId::kJobsSubmitted, {DispositionName(disposition)});
  }

  void OnRemoval(const jobs::Job& /*job*/, jobs::RemovalCause cause) override {
    metrics_.Add(MetricId::kJobsRemoved, {CauseName(cause)});
  }

 private:
  static absl::string_view AttemptEnd(const jobs::Transition& transition) {
    if (transition.to == JobState::kCancelled && transition.actor == "worker") return "cancelled";
    for (const char* reason : {"interrupted", "storage_down", "process_died"}) {
      if (transition.reason == reason) return reason;
    }
    if (transition.actor == "recovery") return "lease_lost";
    if (transition.reason == ReasonName(Reason::kPoisoned)) return "process_died";
    if (transition.reason == ReasonName(Reason::kDeviceLost)) return "device_lost";
    return transition.to == JobState::kQueued ? "drained" : "finished";
  }

  Metrics& metrics_;
};

// Passes progress on and records how long each phase took.
class PhaseTimer : public ProgressSink {
 public:
  PhaseTimer(ProgressSink* sink, const Clock* clock, Metrics* metrics)
      : sink_(*sink), clock_(*clock), metrics_(*metrics) {}
  ~PhaseTimer() override { Enter(""); }

  void Report(const Progress& progress) override {
    if (progress.phase != phase_) Enter(progress.phase);
    sink_.Report(progress);
  }

 private:
  void Enter(const std::string& phase) {
    if (!phase_.empty()) {
      metrics_.Observe(MetricId::kJobRunSeconds, {phase_}, clock_.SecondsSince(start_ns_));
    }
    phase_ = phase;
    start_ns_ = clock_.NowNs();
  }

  ProgressSink& sink_;
  const Clock& clock_;
  Metrics& metrics_;
  std::string phase_;
  int64_t start_ns_ = 0;
};

// The name of a device, of which there are few: those of snapshots are all "snapshot".
absl::string_view DeviceLabel(const std::string& device) {
  return optimize::SnapshotOf(device).has_value() ? "snapshot" : absl::string_view(device);
}

class MeteredRunner : public worker::JobRunner {
 public:
  MeteredRunner(worker::JobRunner* runner, const Clock* clock, Metrics* metrics)
      : runner_(*runner), clock_(*clock), metrics_(*metrics) {}

  absl::StatusOr<jobs::JobResult> Run(const jobs::Job& job, const CancelToken& token,
                                      ProgressSink* progress,
                                      worker::KeptCheckpoint* checkpoint) override {
    const absl::string_view device = DeviceLabel(job.spec.options.device);
    ExpectResult(device, job.device_fingerprint);
    PhaseTimer timer(progress, &clock_, &metrics_);
    absl::StatusOr<jobs::JobResult> result = runner_.Run(job, token, &timer, checkpoint);
    if (result.ok()) {
      const std::string library = kernels::DescribeDevice(result->device_fingerprint).library;
      metrics_.Add(MetricId::kJobResults, {report::OutcomeName(result->outcome), device, library});
    }
    const std::optional<Reason> reason = GetReason(result.status());
    if (result.ok() ? result->device_failed : reason == Reason::kDeviceLost) {
      metrics_.Add(MetricId::kDeviceFailures, {device});
    }
    const bool is_down = reason == Reason::kDeviceLost || reason == Reason::kDeviceNotPresent;
    if (result.ok() || is_down) metrics_.Set(MetricId::kDeviceUp, {device}, is_down ? 0 : 1);
    return result;
  }

  absl::StatusOr<std::string> Inspect(const jobs::Manifest& model, const std::string& name,
                                      IsWanted is_wanted) override {
    return runner_.Inspect(model, name, is_wanted);
  }
  absl::StatusOr<optimize::Validation> Validate(const jobs::JobSpec& spec,
                                                IsWanted is_wanted) override {
    return runner_.Validate(spec, is_wanted);
  }
  absl::StatusOr<worker::Verification> Verify(const jobs::Job& job, IsWanted is_wanted) override {
    return runner_.Verify(job, is_wanted);
  }
  absl::StatusOr<worker::Replay> Replay(const jobs::Job& job, IsWanted is_wanted) override {
    return runner_.Replay(job, is_wanted);
  }

 private:
  // Makes the series of the results that the device may have, so that the first one is seen to
  // come.
  void ExpectResult(absl::string_view device, const std::string& fingerprint) {
    const std::string library = kernels::DescribeDevice(fingerprint).library;
    for (const report::Outcome outcome :
         {report::Outcome::kImproved, report::Outcome::kNoImprovement}) {
      metrics_.Add(MetricId::kJobResults, {report::OutcomeName(outcome), device, library}, 0);
    }
  }

  worker::JobRunner& runner_;
  const Clock& clock_;
  Metrics& metrics_;
};

}  // namespace

std::unique_ptr<jobs::JobObserver> NewJobMeter(Metrics* metrics) {
  return std::make_unique<JobMeter>(metrics);
}

void CountRefusal(const absl::Status& why, Metrics* metrics) {
  const std::vector<std::string>& known = Spec(MetricId::kJobsRefused).labels[0].values;
  const auto name = std::string(ReasonName(GetReason(why).value_or(Reason::kInternal)));
  const bool is_known = std::ranges::find(known, name) != known.end();
  metrics->Add(MetricId::kJobsRefused, {is_known ? absl::string_view(name) : "other"});
}

std::unique_ptr<worker::JobRunner> NewMeteredRunner(worker::JobRunner* runner, const Clock* clock,
                                                    Metrics* metrics) {
  return std::make_unique<MeteredRunner>(runner, clock, metrics);
}

}  // namespace quotient::ops
