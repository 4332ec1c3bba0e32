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
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "google/protobuf/duration.pb.h"
#include "proto/wire/progress.h"
#include "proto/wire/time.h"
#include "server/jobs/convert.h"
#include "server/rpc/call_slot.h"
#include "server/rpc/status.h"

namespace quotient::rpc {
namespace {

constexpr int64_t kMinIntervalMs = 200;
constexpr int64_t kMaxIntervalMs = 3'600'000;

// Returns the interval that the client asks for, clamped to a range in which sums cannot overflow.
int64_t IntervalMs(const google::protobuf::Duration& wanted) {
  return std::clamp(wire::Milliseconds(wanted), kMinIntervalMs, kMaxIntervalMs);
}

// Two kinds of threads call this class: gRPC's threads (all that begins with On) and threads that
// publish news (through the hub's wake function). `mutex_` guards all state. While it is held, no
// mutex but the hub's may be acquired; the store is read without it.
class WatchStream : public grpc::ServerBidiReactor<v1::WatchJobRequest, v1::WatchJobResponse> {
 public:
  WatchStream(grpc::CallbackServerContext* context, StreamSlots* slots, jobs::Admission* admission,
              jobs::JobStore* store, jobs::WatchHub* hub)
      : context_(context), slots_(*slots), admission_(*admission), store_(*store), hub_(*hub) {
    StartRead(&request_);
  }

  // There is one request, as for a method that answers with a stream.
  void OnReadDone(bool ok) override {
    const absl::Status status =
        ok ? Prepare(request_)
           : absl::InvalidArgumentError("there is no request, or none that can be read");
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
    // The job's last transition was sent; the snapshot with the result follows.
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
    QUOTIENT_ASSIGN_OR_RETURN(slot_, TakeSlot(context_, slots_));
    slot_->BeginToWait();  // For news, which counts where somebody else needs the slot.
    QUOTIENT_ASSIGN_OR_RETURN(job_id_, jobs::JobIdFromName(request.name()));
    jobs::WatchOptions options;
    options.min_interval_ms = IntervalMs(request.min_interval());
    // Subscribes before reading the snapshot, so that no transition is missed. Take() drops those
    // that the snapshot includes.
    watch_ = hub_.Subscribe(job_id_, options, [this] {
      absl::MutexLock lock(&mutex_);
      Pump();
    });
    QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, admission_.Get(job_id_));
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

  absl::Status QueueSnapshot() ABSL_LOCKS_EXCLUDED(mutex_) {
    QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, admission_.Get(job_id_));
    absl::MutexLock lock(&mutex_);
    Queue(SnapshotOf(job));
    return absl::OkStatus();
  }

  // Without what can be large: it stays in memory until the client reads it.
  v1::WatchJobResponse SnapshotOf(const jobs::Job& job) const {
    v1::WatchJobResponse response;
    *response.mutable_snapshot() = jobs::ToSummary(job, hub_.LatestProgress(job.id));
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
      *response.mutable_progress() = wire::ToProto(*progress);
    } else {
      response.mutable_heartbeat();
    }
    Queue(std::move(response));
  }

  void FinishOnce(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (std::exchange(finished_, true)) return;
    Finish(ToGrpc(status));
  }

  grpc::CallbackServerContext* const context_;  // Lives until OnDone.
  StreamSlots& slots_;
  jobs::Admission& admission_;
  jobs::JobStore& store_;
  jobs::WatchHub& hub_;
  v1::WatchJobRequest request_;  // Belongs to gRPC until OnReadDone.
  // Set by Prepare.
  std::unique_ptr<StreamSlots::Slot> slot_;
  std::string job_id_;

  absl::Mutex mutex_;
  bool prepared_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether the transition to a terminal state was taken from the hub and is not yet written.
  bool saw_end_ ABSL_GUARDED_BY(mutex_) = false;
  bool complete_ ABSL_GUARDED_BY(mutex_) = false;  // Whether nothing follows after queue_.
  int64_t snapshot_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<v1::WatchJobResponse> queue_ ABSL_GUARDED_BY(mutex_);
  v1::WatchJobResponse message_;  // Belongs to gRPC while writing_.

  // Set by Prepare. Declared last, so that it is destroyed first: this ends calls of the wake
  // function, which uses all of the above.
  std::unique_ptr<jobs::Watch> watch_;
};

}  // namespace

grpc::ServerBidiReactor<v1::WatchJobRequest, v1::WatchJobResponse>* StartWatchStream(
    grpc::CallbackServerContext* context, StreamSlots& slots, jobs::Admission& admission,
    jobs::JobStore& store, jobs::WatchHub& hub) {
  return new WatchStream(context, &slots, &admission, &store, &hub);
}

}  // namespace quotient::rpc
