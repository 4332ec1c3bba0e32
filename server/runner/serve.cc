#include "server/runner/serve.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/checkpoint_slot.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/base/stop.h"
#include "core/optimize/devices.h"
#include "core/os/environment.h"
#include "core/os/memory.h"
#include "core/timing/lane.h"
#include "core/timing/rule_store.h"
#include "core/timing/store.h"
#include "proto/wire/progress.h"
#include "proto/wire/status.h"
#include "server/jobs/convert.h"
#include "server/runner/core_runner.h"
#include "server/runner/runner.pb.h"
#include "server/store/disk/blob_store.h"

namespace quotient::runner {
namespace {

// Thread-safe.
class Events {
 public:
  explicit Events(os::MessageChannel* channel) : channel_(*channel) {}

  void Send(const v1::Event& event) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    const absl::Status sent = channel_.Send(event.SerializeAsString(), os::kNever);
    if (!sent.ok()) Log().error("the server is not told: {}", std::string(sent.message()));
  }

 private:
  absl::Mutex mutex_;
  os::MessageChannel& channel_ ABSL_GUARDED_BY(mutex_);
};

class SentProgress : public ProgressSink {
 public:
  explicit SentProgress(Events* events) : events_(*events) {}
  void Report(const Progress& progress) override {
    v1::Event event;
    *event.mutable_progress() = wire::ToProto(progress);
    events_.Send(event);
  }

 private:
  Events& events_;
};

// The server keeps what is saved.
class SentCheckpoint : public CheckpointSlot {
 public:
  SentCheckpoint(const v1::Run& run, Events* events)
      : run_(run), events_(*events), last_ns_(Clock::System().NowNs()) {}

  std::string Load() override { return run_.checkpoint(); }
  bool Due() override {
    return Clock::System().SecondsSince(last_ns_) >= run_.checkpoint_seconds();
  }
  void Save(absl::string_view bytes) override {
    v1::Event event;
    event.set_checkpoint(std::string(bytes));
    events_.Send(event);
    last_ns_ = Clock::System().NowNs();
  }

 private:
  const v1::Run& run_;
  Events& events_;
  int64_t last_ns_;
};

// What jobs need, in the server's data folder.
class Workplace {
 public:
  static absl::StatusOr<std::unique_ptr<Workplace>> Open(const v1::Setup& setup, Events* events) {
    QUOTIENT_ASSIGN_OR_RETURN(auto timings, timing::OpenFileStore(setup.timings_path()));
    return std::unique_ptr<Workplace>(new Workplace(setup, std::move(timings), events));
  }

  worker::JobRunner& runner() { return *runner_; }

 private:
  Workplace(const v1::Setup& setup, std::unique_ptr<timing::TimingStore> timings, Events* events)
      : timings_(std::move(timings)),
        rules_(setup.rules_path()),
        lane_(setup.lane_path()),
        devices_({.store = timings_.get(),
                  .lane = &lane_,
                  .cache_directory = setup.compiled_path(),
                  .environment = os::ReadEnvironment(environ),
                  .takes_precedence = setup.takes_precedence()}),
        blobs_(store::DiskBlobStore::Share(setup.blobs_path(),
                                           {.max_blob_bytes = setup.max_blob_bytes(),
                                            .min_free_bytes = setup.min_free_bytes()},
                                           [events] {
                                             v1::Event event;
                                             event.set_damaged_blob(true);
                                             events->Send(event);
                                           })),
        runner_(NewCoreRunner(blobs_.get(), &devices_, &rules_, &Clock::System())) {}

  const std::unique_ptr<timing::TimingStore> timings_;
  const timing::RuleStore rules_;
  timing::Lane lane_;
  optimize::Devices devices_;
  const std::unique_ptr<store::DiskBlobStore> blobs_;
  const std::unique_ptr<worker::JobRunner> runner_;
};

absl::StatusOr<jobs::JobResult> RunJob(const v1::Run& run, worker::JobRunner& runner,
                                       const CancelToken& token, Events* events) {
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, jobs::FromProto(run.job()));
  const StopCondition stop = StopCondition(&token).WithBudget(Clock::System(), run.most_seconds());
  SentProgress progress(events);
  SentCheckpoint checkpoint(run, events);
  return runner.Run(job, stop, &progress, run.keeps_checkpoints() ? &checkpoint : nullptr);
}

absl::StatusOr<std::string> InspectModel(const v1::Inspect& inspect, worker::JobRunner& runner) {
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Manifest model, jobs::FromProto(inspect.model()));
  return runner.Inspect(model, inspect.name());
}

absl::Status Answer(const v1::Request& request, const CancelToken& token, Events* events,
                    v1::Ended* ended) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto workplace, Workplace::Open(request.setup(), events));
  if (request.has_run()) {
    QUOTIENT_ASSIGN_OR_RETURN(const jobs::JobResult result,
                              RunJob(request.run(), workplace->runner(), token, events));
    *ended->mutable_result() = jobs::ToProto(result);
    return absl::OkStatus();
  }
  QUOTIENT_ASSIGN_OR_RETURN(*ended->mutable_summary_json(),
                            InspectModel(request.inspect(), workplace->runner()));
  return absl::OkStatus();
}

// Sets the token when the server cancels. Ends the process when the server is gone, since nobody
// wants what it does.
void Listen(os::MessageChannel& channel, CancelToken* token) {
  std::string message;
  while (channel.Receive(&message, os::kNever).ok()) token->Cancel();
  _exit(EXIT_FAILURE);
}

}  // namespace

int Serve(os::MessageChannel& channel) {
  std::string message;
  v1::Request request;
  if (!channel.Receive(&message, os::kNever).ok() || !request.ParseFromString(message)) {
    return EXIT_FAILURE;
  }
  Log().set_level(spdlog::level::from_str(request.setup().log_level()));
  Log().flush_on(spdlog::level::info);
  os::DivideMemory(request.setup().jobs_at_once());

  // Lives until the process ends, and so does the thread.
  static CancelToken token;
  std::thread([&channel] { Listen(channel, &token); }).detach();
  Events events(&channel);
  v1::Event last;
  *last.mutable_ended()->mutable_status() =
      wire::ToProto(Answer(request, token, &events, last.mutable_ended()));
  events.Send(last);
  return EXIT_SUCCESS;
}

}  // namespace quotient::runner
