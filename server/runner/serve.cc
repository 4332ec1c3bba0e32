#include "server/runner/serve.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/checkpoint_slot.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/base/stop.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize.h"
#include "core/os/child_setup.h"
#include "core/os/environment.h"
#include "core/os/memory.h"
#include "core/timing/lane.h"
#include "core/timing/rule_store.h"
#include "core/timing/store.h"
#include "proto/wire/digest.h"
#include "proto/wire/options.h"
#include "proto/wire/progress.h"
#include "proto/wire/status.h"
#include "server/config/log_format.h"
#include "server/jobs/convert.h"
#include "server/runner/core_runner.h"
#include "server/runner/counted_timings.h"
#include "server/runner/figures.h"
#include "server/runner/process_runner.h"
#include "server/runner/runner.pb.h"
#include "server/runner/sandbox.h"
#include "server/store/disk/blob_store.h"

namespace quotient::runner {
namespace {

constexpr double kProgressSeconds = 0.1;  // At least so long is between two of one phase.
// The listener tells the server so often that another job measures.
constexpr int64_t kWaitsNs = 5'000'000'000;
// Of a checkpoint. What is larger is not kept.
constexpr size_t kMostCheckpointBytes = kMostMessageBytes - (1 << 20);

// Thread-safe.
class Events {
 public:
  explicit Events(os::MessageChannel* channel) : channel_(*channel) {}

  void Send(const v1::Event& event) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    // If this fails, the server is gone, which the listener sees, too.
    channel_.Send(event.SerializeAsString(), os::kNever).IgnoreError();
  }

 private:
  absl::Mutex mutex_;
  os::MessageChannel& channel_ ABSL_GUARDED_BY(mutex_);
};

class SentProgress : public ProgressSink {
 public:
  explicit SentProgress(Events* events) : events_(*events) {}

  void Report(const Progress& progress) override {
    // A search reports each simulation, and the server looks at each message.
    if (progress.phase == phase_ && Clock::System().SecondsSince(last_ns_) < kProgressSeconds) {
      return;
    }
    phase_ = progress.phase;
    last_ns_ = Clock::System().NowNs();
    v1::Event event;
    *event.mutable_progress() = wire::ToProto(progress);
    events_.Send(event);
  }

 private:
  Events& events_;
  std::string phase_;
  int64_t last_ns_ = 0;
};

// The server keeps what is saved. It is durable a little later than Save returns.
class SentCheckpoint : public CheckpointSlot {
 public:
  SentCheckpoint(const v1::Run& run, Events* events)
      : run_(run), events_(*events), last_ns_(Clock::System().NowNs()) {}

  std::string Load() override { return run_.checkpoint(); }
  bool Due() override {
    return Clock::System().SecondsSince(last_ns_) >= run_.checkpoint_seconds();
  }
  void Save(absl::string_view bytes) override {
    last_ns_ = Clock::System().NowNs();
    if (bytes.size() > kMostCheckpointBytes) {
      Log().warn("a checkpoint of {} bytes is not kept", bytes.size());
      return;
    }
    v1::Event event;
    event.set_checkpoint(std::string(bytes));
    events_.Send(event);
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
    QUOTIENT_RETURN_IF_ERROR(CheckBuild(setup));
    QUOTIENT_ASSIGN_OR_RETURN(auto timings, timing::OpenFileStore(setup.timings_path()));
    return std::unique_ptr<Workplace>(
        new Workplace(setup, NewCountedTimings(std::move(timings)), events));
  }

  CoreTools tools() {
    return {.blobs = blobs_.get(),
            .devices = &devices_,
            .rule_store = &rules_,
            .clock = &Clock::System()};
  }
  const timing::Lane& lane() const { return lane_; }
  TimingCounts timing_counts() const { return timings_->counts(); }

  // DEVICE_LOST if the server takes the job's device for another one than it is here: a library or
  // a driver was replaced since the server was started, and it would file results under the wrong
  // key.
  absl::Status CheckDevice(const optimize::Options& options, absl::string_view fingerprint) {
    const absl::StatusOr<optimize::DeviceIdentity> device =
        devices_.Identify(options.device, options.ThreadsToUse());
    // That of a device that cannot be had is told by the run.
    if (!device.ok() || fingerprint.empty() || device->fingerprint == fingerprint) {
      return absl::OkStatus();
    }
    return MakeError(Reason::kDeviceLost, absl::StrCat("the device was '", fingerprint,
                                                       "' when the server was started "
                                                       "and is now '",
                                                       device->fingerprint, "'"));
  }

 private:
  // The files of a program may be replaced while it runs. That is no job's fault, and ends when the
  // server is started anew.
  static absl::Status CheckBuild(const v1::Setup& setup) {
    if (setup.protocol() == kProtocol && setup.engine_version() == optimize::EngineVersion()) {
      return absl::OkStatus();
    }
    return MakeError(Reason::kStorageDown,
                     absl::StrCat("quotient-job is of another build (", optimize::EngineVersion(),
                                  ") than quotientd (", setup.engine_version(),
                                  "), which has to be started anew"));
  }

  Workplace(const v1::Setup& setup, std::unique_ptr<CountedTimings> timings, Events* events)
      : timings_(std::move(timings)),
        rules_(setup.rules_path()),
        lane_(setup.lane_path()),
        devices_({.store = timings_.get(),
                  .lane = &lane_,
                  .cache_directory = setup.compiled_path(),
                  .environment = os::ReadEnvironment(environ),
                  .takes_precedence = setup.takes_precedence()}),
        blobs_(store::DiskBlobStore::Share(
            setup.blobs_path(),
            {.max_blob_bytes = setup.max_blob_bytes(), .min_free_bytes = setup.min_free_bytes()},
            [events] {
              v1::Event event;
              event.set_damaged_blob(true);
              events->Send(event);
            })) {}

  const std::unique_ptr<CountedTimings> timings_;
  const timing::RuleStore rules_;
  timing::Lane lane_;
  optimize::Devices devices_;
  const std::unique_ptr<store::DiskBlobStore> blobs_;
};

// What the thread that listens uses. Lives until the process ends.
struct Listening {
  os::MessageChannel& channel;
  Events& events;
  CancelToken token;
  absl::Mutex mutex;
  const timing::Lane* lane ABSL_GUARDED_BY(mutex) = nullptr;  // Null if there is none.
};

// Tells the server that this job waits for another one, and so is silent for no fault of its own.
void TellIfWaiting(Listening& listening) {
  const absl::MutexLock lock(&listening.mutex);
  if (listening.lane == nullptr || !listening.lane->waits()) return;
  v1::Event event;
  event.set_waits(true);
  listening.events.Send(event);
}

// Sets the token as the server orders. Ends the process when the server is gone, or wants it to end
// at once.
[[noreturn]] void Listen(Listening& listening) {
  for (;;) {
    const absl::Status input = listening.channel.AwaitInput(Clock::System().NowNs() + kWaitsNs);
    if (absl::IsDeadlineExceeded(input)) {
      TellIfWaiting(listening);
      continue;
    }
    std::string message;
    v1::Order order;
    if (!listening.channel.Receive(&message, os::kNever).ok()) os::EndAsRequested();
    if (order.ParseFromString(message) && order.kind() == v1::Order::FINISH) {
      listening.token.Finish(Clock::System());
    } else {
      listening.token.Cancel();
    }
  }
}

// How long the job may run: what the server allows, or less if that was asked for.
double MostSeconds(const jobs::Job& job, double allowed) {
  if (job.policy.run_ms == 0) return allowed;
  return std::min(allowed, 1e-3 * static_cast<double>(job.policy.run_ms));
}

absl::StatusOr<jobs::JobResult> Serve(const v1::Run& run, Workplace& workplace,
                                      const CancelToken& token, Events* events,
                                      v1::Figures* figures) {
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, jobs::FromProto(run.job()));
  QUOTIENT_RETURN_IF_ERROR(workplace.CheckDevice(job.spec.options, run.device_fingerprint()));
  const StopCondition stop =
      StopCondition::Within(&token, Clock::System(), MostSeconds(job, run.most_seconds()));
  SentProgress progress(events);
  SentCheckpoint checkpoint(run, events);
  CoreTools tools = workplace.tools();
  tools.on_report = [figures](const report::Report& report) { AddReport(report, figures); };
  absl::StatusOr<jobs::JobResult> result =
      RunJob(tools, job, stop, &progress, run.keeps_checkpoints() ? &checkpoint : nullptr);
  AddTimings(workplace.timing_counts(), workplace.lane().waited_seconds(), figures);
  return result;
}

absl::StatusOr<std::string> Serve(const v1::Inspect& inspect, Workplace& workplace) {
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Manifest model, jobs::FromProto(inspect.model()));
  return InspectModel(workplace.tools(), model, inspect.name());
}

absl::StatusOr<quotient::v1::ValidateModelResponse> Serve(const v1::Validate& validate,
                                                          Workplace& workplace) {
  jobs::JobSpec spec{.model_name = validate.name()};
  QUOTIENT_ASSIGN_OR_RETURN(spec.model, jobs::FromProto(validate.model()));
  spec.options = wire::FromProto(validate.options());
  QUOTIENT_ASSIGN_OR_RETURN(const optimize::Validation validation,
                            ValidateModel(workplace.tools(), spec));
  quotient::v1::ValidateModelResponse response;
  if (!validation.untouched.ok()) {
    *response.mutable_untouched() = wire::ToProto(validation.untouched);
  }
  for (const std::string& note : validation.notes) response.add_notes(wire::Utf8(note));
  return response;
}

absl::StatusOr<quotient::v1::VerifyResultResponse> Serve(const v1::Verify& verify,
                                                         Workplace& workplace,
                                                         const CancelToken& token) {
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, jobs::FromProto(verify.job()));
  const StopCondition stop = StopCondition::Within(&token, Clock::System(), verify.most_seconds());
  QUOTIENT_ASSIGN_OR_RETURN(const report::Comparison comparison,
                            VerifyResult(workplace.tools(), job, stop));
  quotient::v1::VerifyResultResponse response;
  response.set_is_same(comparison.is_same);
  response.set_comparison_json(wire::Utf8(report::ToJson(comparison)));
  return response;
}

absl::StatusOr<quotient::v1::ReplayJournalResponse> Serve(const v1::Replay& replay,
                                                          Workplace& workplace,
                                                          const CancelToken& token) {
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, jobs::FromProto(replay.job()));
  const StopCondition stop = StopCondition::Within(&token, Clock::System(), replay.most_seconds());
  QUOTIENT_ASSIGN_OR_RETURN(const worker::Replay made, ReplayJournal(workplace.tools(), job, stop));
  quotient::v1::ReplayJournalResponse response;
  *response.mutable_model() = wire::ToProto(made.model);
  response.set_is_result(made.is_result);
  response.set_rewrites(made.rewrites);
  return response;
}

absl::Status Answer(const v1::Request& request, Workplace& workplace, const CancelToken& token,
                    Events* events, v1::Ended* ended) {
  if (request.has_run()) {
    QUOTIENT_ASSIGN_OR_RETURN(
        const jobs::JobResult result,
        Serve(request.run(), workplace, token, events, ended->mutable_figures()));
    *ended->mutable_result() = jobs::ToProto(result);
    return absl::OkStatus();
  }
  if (request.has_validate()) {
    QUOTIENT_ASSIGN_OR_RETURN(*ended->mutable_validation(), Serve(request.validate(), workplace));
    return absl::OkStatus();
  }
  if (request.has_verify()) {
    QUOTIENT_ASSIGN_OR_RETURN(*ended->mutable_verification(),
                              Serve(request.verify(), workplace, token));
    return absl::OkStatus();
  }
  if (request.has_replay()) {
    QUOTIENT_ASSIGN_OR_RETURN(*ended->mutable_replay(),
                              Serve(request.replay(), workplace, token));
    return absl::OkStatus();
  }
  QUOTIENT_ASSIGN_OR_RETURN(*ended->mutable_summary_json(), Serve(request.inspect(), workplace));
  return absl::OkStatus();
}

void SendLast(const absl::Status& status, v1::Ended ended, Events* events) {
  v1::Event last;
  *ended.mutable_status() = wire::ToProto(status);
  *last.mutable_ended() = std::move(ended);
  events->Send(last);
}

void SetLane(const timing::Lane* lane, Listening* listening) {
  const absl::MutexLock lock(&listening->mutex);
  listening->lane = lane;
}

}  // namespace

int Serve(os::MessageChannel& channel) {
  std::string message;
  v1::Request request;
  if (!channel.Receive(&message, os::kNever).ok() || !request.ParseFromString(message)) {
    return EXIT_FAILURE;
  }
  config::SetLogFormat(request.setup().log_format());
  if (request.has_run()) {
    const auto id = jobs::JobIdFromName(request.run().job().name());
    config::SetLogSubject({.job = id.value_or(""), .trace = request.run().job().trace_id()});
  }
  Log().set_level(spdlog::level::from_str(request.setup().log_level()));
  Log().flush_on(spdlog::level::info);
  os::DivideMemory(request.setup().jobs_at_once());

  if (request.setup().has_sandbox()) {
    const absl::Status entered = EnterSandbox();
    if (!entered.ok()) Log().warn("no sandbox: {}", std::string(entered.message()));
  }

  // These and the thread live until the process ends.
  auto& events = *new Events(&channel);
  auto& listening = *new Listening{.channel = channel, .events = events};
  std::thread([&listening] { Listen(listening); }).detach();
  v1::Event begun;
  begun.set_begun(true);
  events.Send(begun);

  const absl::StatusOr<std::unique_ptr<Workplace>> workplace =
      Workplace::Open(request.setup(), &events);
  if (!workplace.ok()) {
    SendLast(workplace.status(), {}, &events);
    return EXIT_SUCCESS;
  }
  SetLane(&(*workplace)->lane(), &listening);
  v1::Ended ended;
  const absl::Status status = Answer(request, **workplace, listening.token, &events, &ended);
  SetLane(nullptr, &listening);
  // Comes before the devices are closed, since that may fail, too.
  SendLast(status, std::move(ended), &events);
  return EXIT_SUCCESS;
}

}  // namespace quotient::runner
