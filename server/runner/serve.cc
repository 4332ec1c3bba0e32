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
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/base/stop.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize.h"
#include "core/os/child_setup.h"
#include "core/os/environment.h"
#include "core/os/fault_point.h"
#include "core/os/memory.h"
#include "core/timing/lane.h"
#include "core/timing/rule_store.h"
#include "core/timing/store.h"
#include "proto/wire/digest.h"
#include "proto/wire/options.h"
#include "proto/wire/status.h"
#include "proto/wire/time.h"
#include "proto/wire/validation.h"
#include "server/config/log_format.h"
#include "server/jobs/convert.h"
#include "server/runner/core_runner.h"
#include "server/runner/counted_timings.h"
#include "server/runner/figures.h"
#include "server/runner/job_rights.h"
#include "server/runner/protocol.h"
#include "server/runner/runner.pb.h"
#include "server/runner/sandbox.h"
#include "server/runner/sent_events.h"
#include "server/store/disk/outbox.h"

namespace quotient::runner {
namespace {

// The listener tells the server so often that another job measures.
constexpr int64_t kWaitsNs = 5'000'000'000;
// A job is told to finish when this share of its time has passed. It then goes on as if its budget
// were used up, and a job takes one and a half times its budget at most, as far as that can be
// foreseen (core/optimize/budget.h).
constexpr double kFinishShare = 1 / 1.5;
// What the largest file may have at least that a process writes.
constexpr int64_t kLeastFileBytes = int64_t{64} << 30;

// What jobs need, in the server's data folder.
class Workplace {
 public:
  static absl::StatusOr<std::unique_ptr<Workplace>> Open(const v1::Setup& setup, Events* events) {
    std::unique_ptr<timing::TimingStore> timings = timing::NewMemoryStore();
    if (!setup.timings_path().empty()) {
      QUOTIENT_ASSIGN_OR_RETURN(timings, timing::OpenFileStore(setup.timings_path()));
    }
    return std::unique_ptr<Workplace>(
        new Workplace(setup, NewCountedTimings(std::move(timings)), events));
  }

  CoreTools tools() {
    return {.blobs = &blobs_,
            .made = &blobs_,
            .devices = &devices_,
            .rule_store = rules_.path().empty() ? nullptr : &rules_,
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
  Workplace(const v1::Setup& setup, std::unique_ptr<CountedTimings> timings, Events* events)
      : timings_(std::move(timings)),
        rules_(RulesIn(setup.outbox_path())),
        lane_(setup.lane_path()),
        devices_({.store = timings_.get(),
                  .lane = &lane_,
                  .cache_directory = setup.compiled_path(),
                  .environment = os::ReadEnvironment(environ),
                  .takes_precedence = setup.takes_precedence()}),
        blobs_(setup.blobs_path(), setup.outbox_path(),
               {.max_blob_bytes = setup.max_blob_bytes(), .min_free_bytes = setup.min_free_bytes()},
               [events](const BlobId& id) {
                 v1::Event event;
                 *event.mutable_damaged_blob() = wire::ToProto(id);
                 events->Send(event);
               }) {}

  const std::unique_ptr<CountedTimings> timings_;
  const timing::RuleStore rules_;
  timing::Lane lane_;
  optimize::Devices devices_;
  store::Outbox blobs_;
};

// What the thread that listens uses. Lives until the process ends.
struct Listening {
  os::MessageChannel& channel;
  Events& events;
  // When the job is told to finish if the server does not order it before.
  const int64_t finish_ns;
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

// Sets the token as the server orders, or when the job has to finish to end in time. Ends the
// process when the server is gone, or wants it to end at once.
[[noreturn]] void Listen(Listening& listening) {
  const Clock& clock = Clock::System();
  for (;;) {
    const bool finishes = listening.token.finishing();
    const int64_t look_ns = clock.NowNs() + kWaitsNs;
    const absl::Status input =
        listening.channel.AwaitInput(finishes ? look_ns : std::min(look_ns, listening.finish_ns));
    if (clock.NowNs() >= listening.finish_ns) listening.token.Finish(clock);
    if (absl::IsDeadlineExceeded(input)) {
      TellIfWaiting(listening);
      continue;
    }
    std::string message;
    v1::Order order;
    if (!listening.channel.Receive(&message, os::kNever).ok()) os::EndAsRequested();
    if (order.ParseFromString(message) && order.kind() == v1::Order::FINISH) {
      listening.token.Finish(clock);
    } else {
      listening.token.Cancel();
    }
  }
}

// How long the job may run: what the server allows, or less if that was asked for.
double MostSeconds(const v1::Run& run) {
  const quotient::v1::JobPolicy& policy = run.job().policy();
  if (!policy.has_run_deadline()) return run.most_seconds();
  return std::min(run.most_seconds(),
                  1e-3 * static_cast<double>(wire::Milliseconds(policy.run_deadline())));
}

// When a request that came at `now_ns` has to finish with what it has, so that the result is still
// checked in time.
int64_t FinishNs(const v1::Request& request, int64_t now_ns) {
  if (!request.has_run()) return CancelToken::kNever;
  const double seconds = kFinishShare * MostSeconds(request.run());
  return seconds < 1e9 ? now_ns + static_cast<int64_t>(seconds * 1e9) : CancelToken::kNever;
}

absl::StatusOr<jobs::JobResult> Serve(const v1::Run& run, Workplace& workplace,
                                      const CancelToken& token, Events* events,
                                      v1::Figures* figures) {
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, jobs::FromProto(run.job()));
  QUOTIENT_RETURN_IF_ERROR(workplace.CheckDevice(job.spec.options, run.device_fingerprint()));
  const StopCondition stop = StopCondition::Within(&token, Clock::System(), MostSeconds(run));
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
  return wire::ToProto(validation);
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
  response.mutable_conditions()->Add(made.conditions.begin(), made.conditions.end());
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
    QUOTIENT_ASSIGN_OR_RETURN(*ended->mutable_replay(), Serve(request.replay(), workplace, token));
    return absl::OkStatus();
  }
  QUOTIENT_ASSIGN_OR_RETURN(*ended->mutable_summary_json(), Serve(request.inspect(), workplace));
  return absl::OkStatus();
}

void SendBegun(Events* events) {
  v1::Event first;
  first.mutable_begun()->set_engine_version(std::string(optimize::EngineVersion()));
  first.mutable_begun()->set_protocol(kProtocol);
  events->Send(first);
}

void SendLast(const absl::Status& status, v1::Ended ended, Events* events) {
  v1::Event last;
  *ended.mutable_status() = wire::ToProto(status);
  *last.mutable_ended() = std::move(ended);
  events->Send(last);
}

// A helper is handed a model in a file, and what is folded may make it larger.
Sandbox SandboxFor(const v1::Request& request) {
  return {.files = RightsFor(request, os::ReadEnvironment(environ)),
          .connects = UsesGpu(request),
          .most_file_bytes = std::max(kLeastFileBytes, request.setup().max_blob_bytes())};
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
  if (request.call_case() == v1::Request::CALL_NOT_SET) {
    Events events(&channel);
    SendBegun(&events);
    SendLast(absl::OkStatus(), {}, &events);
    return EXIT_SUCCESS;
  }
  config::SetLogFormat(request.setup().log_format());
  if (request.has_run()) {
    const auto id = jobs::JobIdFromName(request.run().job().name());
    config::SetLogSubject({.job = id.value_or(""), .trace = request.run().job().trace_id()});
  }
  Log().set_level(spdlog::level::from_str(request.setup().log_level()));
  Log().flush_on(spdlog::level::info);
  os::DivideMemory(request.setup().jobs_at_once());

  // Answers have no turn among the jobs, and must not disturb what those measure.
  if (!request.has_run()) os::YieldToOthers();

  if (request.setup().has_sandbox()) {
    const absl::Status entered = EnterSandbox(SandboxFor(request));
    if (!entered.ok()) Log().warn("no sandbox: {}", std::string(entered.message()));
  }

  os::FaultPoint("job.sandboxed");
  // These and the thread live until the process ends.
  auto& events = *new Events(&channel);
  auto& listening = *new Listening{.channel = channel,
                                   .events = events,
                                   .finish_ns = FinishNs(request, Clock::System().NowNs())};
  std::thread([&listening] { Listen(listening); }).detach();
  SendBegun(&events);
  os::FaultPoint("job.begun");

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
  os::FaultPoint("job.answered");
  // Comes before the devices are closed, since that may fail, too.
  SendLast(status, std::move(ended), &events);
  os::FaultPoint("job.told");
  return EXIT_SUCCESS;
}

}  // namespace quotient::runner
