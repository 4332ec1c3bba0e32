#include "server/chores.h"

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/checked.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/os/memory.h"

namespace quotient {
namespace {

constexpr int64_t kMsPerDay = int64_t{24} * 3600 * 1000;
// A client that tries again does so within minutes. What an upload has reserved is taken from
// others.
constexpr int64_t kUploadLifeMs = int64_t{3600} * 1000;
constexpr int64_t kEmptyUploadLifeMs = int64_t{10} * 60 * 1000;
constexpr int64_t kDamagedLifeMs = 7 * kMsPerDay;
// The first round that looks for what nobody needs comes so soon after the start.
constexpr absl::Duration kSoon = absl::Seconds(5);

void LogFailure(const char* what, const absl::Status& status) {
  if (!status.ok()) Log().error("{}: {}", what, std::string(status.message()));
}

// Runs a round, and tells what it did.
void RemoveUnneeded(jobs::Retention* retention, jobs::SentBlobs* sent, ops::Metrics* metrics) {
  jobs::RetentionRound round;
  const absl::Status status = retention->Run(&round);
  LogFailure("removal of what nobody needs", status);
  LogFailure("files that are gone", sent->DiscountGone());
  metrics->Add(ops::MetricId::kBlobsRemoved, {}, round.blobs);
  metrics->Add(ops::MetricId::kBlobBytesRemoved, {}, static_cast<double>(round.blob_bytes));
  if (status.ok()) {
    metrics->Set(ops::MetricId::kBlobBytes, {}, static_cast<double>(round.held_bytes));
    metrics->Set(ops::MetricId::kBlobExcessBytes, {}, static_cast<double>(round.excess_bytes));
  }
  const int jobs = round.jobs_by_age + round.jobs_for_space;
  if (jobs + round.blobs > 0) {
    Log().info("removed {} jobs and {} files of {} bytes", jobs, round.blobs, round.blob_bytes);
  }
  if (!round.excess_changed) return;
  if (round.excess_bytes > 0) {
    Log().error("{} bytes more are stored than there is room for, and nothing can be removed",
                round.excess_bytes);
  } else {
    Log().info("what is stored has room again");
  }
}

// Gives what removed jobs have left free in the job store back to the disk, in steps, between which
// submissions get their turn.
void GiveBack(jobs::JobStore* store) {
  constexpr int kSteps = 8;
  constexpr int64_t kStepBytes = int64_t{1} << 20;
  for (int step = 0; step < kSteps; ++step) {
    const absl::StatusOr<int64_t> given = store->GiveBack(kStepBytes);
    LogFailure("room of removed jobs", given.status());
    if (given.value_or(0) == 0) return;
  }
}

}  // namespace

std::vector<ops::Ticker::Task> QuickChores(jobs::WatchHub* hub, jobs::Dispatch* dispatch,
                                           jobs::Admission* admission, rpc::BlobService* blobs,
                                           rpc::UnsentRequests* requests,
                                           rpc::UnreadReplies* replies) {
  return {
      {absl::Milliseconds(200), [hub] { hub->Tick(); }},
      {absl::Seconds(5), [dispatch] { LogFailure("lost jobs", dispatch->RequeueLost().status()); }},
      {absl::Seconds(1),
       [dispatch] { LogFailure("overdue jobs", dispatch->FailOverdue().status()); }},
      {absl::Seconds(5),
       [blobs, requests, replies] {
         blobs->CancelIdle();
         requests->CancelIdle();
         replies->CancelIdle();
       }},
      {absl::Hours(1), [admission] { LogFailure("request ids", admission->ForgetOldRequests()); }},
  };
}

jobs::RetentionLimits LimitsOfRetention(const config::ServerFlags& flags) {
  // Results are removed before the disk is so full that uploads are refused.
  const int64_t min_free_bytes =
      CheckedMul(flags.min_free_bytes, 2).value_or(std::numeric_limits<int64_t>::max());
  return {.keep_ms = flags.keep_days * kMsPerDay,
          .max_bytes = flags.max_stored_bytes,
          .min_free_bytes = min_free_bytes,
          .spare_ms = flags.spare_seconds * 1000};
}

std::vector<ops::Ticker::Task> SlowChores(const config::ServerFlags& flags, const Stores& stores,
                                          store::BlobScrubber* scrubber, jobs::Retention* retention,
                                          ops::Metrics* metrics) {
  constexpr int kStepsPerSecond = 4;
  const int64_t step_bytes = flags.scrub_bytes_per_second / kStepsPerSecond;
  jobs::SentBlobs* const sent = stores.sent.get();
  return {
      {absl::Seconds(1) / kStepsPerSecond, [=] { scrubber->Step(step_bytes); }},
      {absl::Minutes(1),
       [uploads = stores.uploads.get()] {
         const int64_t now_ms = Clock::System().UnixMs();
         LogFailure("uploads",
                    uploads->Expire(now_ms - kUploadLifeMs, now_ms - kEmptyUploadLifeMs));
       }},
      {absl::Seconds(flags.tidy_seconds), [=] { RemoveUnneeded(retention, sent, metrics); }, kSoon},
      {absl::Minutes(1),
       [=] {
         if (retention->IsRoomShort().value_or(false)) RemoveUnneeded(retention, sent, metrics);
       }},
      {absl::Seconds(10), [sent] { sent->RemoveLeft(); }},
      {absl::Seconds(1), [store = stores.jobs.get()] { GiveBack(store); }},
      {absl::Seconds(10),
       [directory = stores.directory.get(), min_free_bytes = flags.min_free_bytes] {
         KeepBallast(*directory, min_free_bytes);
       }},
      {absl::Seconds(30), &os::ReturnFreedMemory},
      {absl::Hours(1),
       [blobs = stores.blobs.get()] {
         blobs->RemoveDamaged(Clock::System().UnixMs() - kDamagedLifeMs);
       }},
  };
}

}  // namespace quotient
