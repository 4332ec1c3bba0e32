#include "server/rpc/watch_stream.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "google/protobuf/duration.pb.h"
#include "server/jobs/convert.h"
#include "server/rpc/status.h"

namespace quotient::rpc {
namespace {

constexpr int64_t kMinIntervalMs = 200;
constexpr int64_t kMaxIntervalMs = 3'600'000;

// What the client asks for, made sane: any number can come, and times are added to it.
int64_t IntervalMs(const google::protobuf::Duration& wanted) {
  const int64_t seconds = std::clamp<int64_t>(wanted.seconds(), 0, kMaxIntervalMs / 1000);
  return std::clamp(1000 * seconds + wanted.nanos() / 1'000'000, kMinIntervalMs, kMaxIntervalMs);
}

// Three kinds of threads come here: gRPC's (OnWriteDone, OnCancel, OnDone), whoever publishes news
// (the hub's wake) and the one that starts the call. `mutex_` guards all state; while it is held
// only the hub's mutex is taken. The store is read without it.
class WatchStream : public grpc::ServerWriteReactor<v1::WatchJobResponse> {
 public:
  WatchStream(jobs::JobStore* store, jobs::WatchHub* hub) : store_(*store), hub_(*hub) {}

  void Start(const v1::WatchJobRequest& request) {
    const absl::Status status = Prepare(request);
    absl::MutexLock lock(&mutex_);
    prepared_ = true;
    if (!status.ok()) {
      FinishOnce(status);
    } else {
      Pump();
    }
  }

  void OnWriteDone(bool ok) override {
    bool ended = false;
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      if (!ok) return FinishOnce(absl::CancelledError("the client is gone"));
      ended = std::exchange(saw_end_, false);
    }
    // The job's end was sent: now comes the snapshot with its result.
    absl::Status status = ended ? QueueSnapshot() : absl::OkStatus();
    absl::MutexLock lock(&mutex_);
    if (!status.ok()) return FinishOnce(status);
    complete_ |= ended;
    Pump();
  }

  void OnCancel() override {
    absl::MutexLock lock(&mutex_);
    FinishOnce(absl::CancelledError("the client is gone"));
  }

  void OnDone() override { delete this; }

 private:
  absl::Status Prepare(const v1::WatchJobRequest& request) ABSL_LOCKS_EXCLUDED(mutex_) {
    QUOTIENT_ASSIGN_OR_RETURN(job_id_, jobs::JobIdFromName(request.name()));
    jobs::WatchOptions options;
    options.min_interval_ms = IntervalMs(request.min_interval());
    // Subscribed before the snapshot is read, so that nothing falls between them; what the snapshot
    // covers is left out later.
    watch_ = hub_.Subscribe(job_id_, options, [this] {
      absl::MutexLock lock(&mutex_);
      Pump();
    });
    QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, ReadJob());
    std::vector<jobs::Transition> history;
    if (request.has_from_sequence()) {
      if (request.from_sequence() < 0 || request.from_sequence() > job.sequence) {
        return absl::OutOfRangeError(
            absl::StrCat("from_sequence is outside of 0 to ", job.sequence));
      }
      QUOTIENT_ASSIGN_OR_RETURN(history, store_.History(job_id_, request.from_sequence()));
    }
    absl::MutexLock lock(&mutex_);
    snapshot_sequence_ = job.sequence;
    Queue(SnapshotOf(job));
    for (const jobs::Transition& transition : history) {
      if (transition.sequence <= job.sequence) Queue(transition);
    }
    complete_ = jobs::IsTerminal(job.state);
    if (complete_ && !history.empty()) Queue(SnapshotOf(job));
    return absl::OkStatus();
  }

  absl::StatusOr<jobs::Job> ReadJob() const {
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<jobs::Job> job, store_.Get(job_id_));
    if (job.has_value()) return *std::move(job);
    return MakeError(Reason::kJobNotFound, absl::StrCat("no job '", Escaped(job_id_), "'"));
  }

  absl::Status QueueSnapshot() ABSL_LOCKS_EXCLUDED(mutex_) {
    QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, ReadJob());
    absl::MutexLock lock(&mutex_);
    Queue(SnapshotOf(job));
    return absl::OkStatus();
  }

  v1::WatchJobResponse SnapshotOf(const jobs::Job& job) const {
    v1::WatchJobResponse response;
    *response.mutable_snapshot() = jobs::ToProto(job, hub_.LatestProgress(job.id));
    return response;
  }

  void Queue(v1::WatchJobResponse response) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    queue_.push_back(std::move(response));
  }

  void Queue(const jobs::Transition& transition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    v1::WatchJobResponse response;
    *response.mutable_transition() = jobs::ToProto(transition);
    Queue(std::move(response));
  }

  // Writes the next message if gRPC is ready for one, or ends the stream if there will be none.
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!prepared_ || writing_ || finished_ || saw_end_) return;
    if (queue_.empty() && complete_) return FinishOnce(absl::OkStatus());
    while (queue_.empty()) {
      std::optional<jobs::WatchUpdate> update = watch_->Next();
      if (!update.has_value()) {
        if (watch_->closed())
          FinishOnce(MakeError(Reason::kDraining, "the server is shutting down"));
        return;
      }
      Take(*std::move(update));
    }
    message_ = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    StartWrite(&message_);
  }

  void Take(jobs::WatchUpdate update) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    v1::WatchJobResponse response;
    if (const auto* transition = std::get_if<jobs::Transition>(&update)) {
      if (transition->sequence <= snapshot_sequence_) return;
      saw_end_ = jobs::IsTerminal(transition->to);
      return Queue(*transition);
    }
    if (const auto* progress = std::get_if<Progress>(&update)) {
      *response.mutable_progress() = jobs::ToProto(*progress);
    } else {
      response.mutable_heartbeat();
    }
    Queue(std::move(response));
  }

  void FinishOnce(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (std::exchange(finished_, true)) return;
    Finish(ToGrpc(status));
  }

  jobs::JobStore& store_;
  jobs::WatchHub& hub_;
  std::string job_id_;  // set by Prepare

  absl::Mutex mutex_;
  bool prepared_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool saw_end_ ABSL_GUARDED_BY(mutex_) = false;   // the transition to a terminal state is queued
  bool complete_ ABSL_GUARDED_BY(mutex_) = false;  // after the queue comes nothing more
  int64_t snapshot_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<v1::WatchJobResponse> queue_ ABSL_GUARDED_BY(mutex_);
  v1::WatchJobResponse message_;  // gRPC's while writing_, ours otherwise

  // Set by Prepare. Last, so destroyed first: that ends the wakes, which use all of the above.
  std::unique_ptr<jobs::Watch> watch_;
};

}  // namespace

grpc::ServerWriteReactor<v1::WatchJobResponse>* StartWatchStream(const v1::WatchJobRequest& request,
                                                                 jobs::JobStore& store,
                                                                 jobs::WatchHub& hub) {
  auto* stream = new WatchStream(&store, &hub);
  stream->Start(request);
  return stream;
}

}  // namespace quotient::rpc
