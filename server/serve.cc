#include "server/serve.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/ort_backend.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize.h"
#include "core/os/atomic_file.h"
#include "core/os/fault_point.h"
#include "core/os/memory.h"
#include "core/os/random_id.h"
#include "server/capabilities.h"
#include "server/chores.h"
#include "server/job_processes.h"
#include "server/jobs/admission.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/dispatch.h"
#include "server/jobs/ledger.h"
#include "server/jobs/retention.h"
#include "server/jobs/watch_hub.h"
#include "server/ops/collectors.h"
#include "server/ops/exporter.h"
#include "server/ops/gpu_monitor.h"
#include "server/ops/grpc_metrics.h"
#include "server/ops/job_counts.h"
#include "server/ops/metered.h"
#include "server/ops/queue_age.h"
#include "server/ops/readiness.h"
#include "server/ops/ticker.h"
#include "server/pages/pages.h"
#include "server/recovery.h"
#include "server/rpc/addresses.h"
#include "server/rpc/blob_service.h"
#include "server/rpc/capabilities_service.h"
#include "server/rpc/model_service.h"
#include "server/rpc/optimizer_service.h"
#include "server/rpc/server.h"
#include "server/rpc/unread_replies.h"
#include "server/rpc/unsent_requests.h"
#include "server/signals.h"
#include "server/store/disk/blob_scrubber.h"
#include "server/stores.h"
#include "server/threads.h"
#include "server/worker/worker_pool.h"

namespace quotient {
namespace {

// Transfers have a thread each; so many are left for all other calls. Those that wait for their
// clients can have 448 of them (rpc::UnsentLimits, UnreadLimits).
constexpr int kThreadsOfOtherCalls = 576;
// A client may have all its watches on one connection, and some other calls.
constexpr int kStreamsBesideWatches = 1024;

// The devices as this process sees them, to say what a job's device is. Nothing is timed here.
struct KnownDevices {
  KnownDevices(const config::ServerFlags& flags, const Stores& stores)
      : devices({.store = timings.get(),
                 .lane = &lane,
                 .cache_directory = stores.directory->compiled_path(),
                 .environment = EnvironmentOfDevices(flags)}) {}

  const std::unique_ptr<timing::TimingStore> timings = timing::NewMemoryStore();
  timing::Lane lane;
  optimize::Devices devices;
};

// Who names a library wants it to be used: without it, jobs for `auto` would go to another device.
absl::Status CheckLibrary(const config::ServerFlags& flags, optimize::Devices* devices) {
  if (flags.onnxruntime.empty()) return absl::OkStatus();
  const int threads = optimize::Options().ThreadsToUse();
  return Annotate(devices->Identify(kernels::onnxruntime::kCpuDevice, threads).status(),
                  "--onnxruntime");
}

// The job queue: the ledger, its observers, and admission and dispatch, which write to it.
struct Queue {
  // What the store has when the process starts.
  struct Present {
    std::map<jobs::JobState, int64_t> counts;
    ops::WaitingSince waiting;
  };

  Queue(const config::ServerFlags& flags, const Stores& stores, const Present& present,
        optimize::Devices* devices, ops::Metrics* metrics)
      : limits{.max_queued = static_cast<int>(flags.max_queued_jobs),
               .max_queued_per_client = static_cast<int>(flags.max_queued_jobs_per_client),
               .max_bytes_per_client = flags.max_bytes_per_client,
               .default_threads = ThreadsInQuota()},
        ledger(stores.jobs.get()),
        hub(&Clock::System()),
        meter(ops::NewJobMeter(metrics)),
        counts(present.counts),
        age(present.waiting, &Clock::System()),
        dispatch(&ledger, &Clock::System()),
        checkpoints(&ledger, &dispatch, stores.checkpoints.get()),
        admission(
            limits,
            {.ledger = &ledger,
             .blobs = stores.blobs.get(),
             .clock = &Clock::System(),
             .engine_version = std::string(optimize::EngineVersion()),
             .new_id = &os::RandomId,
             .identify =
                 [devices](const optimize::Options& options) {
                   return devices->Identify(options.device, options.ThreadsToUse());
                 },
             .on_refusal = [metrics](const absl::Status& why) { ops::CountRefusal(why, metrics); },
             .check_room = [blobs = stores.blobs.get()] { return blobs->CheckFree(0); },
             .sent = stores.sent.get()}) {
    ledger.AddObserver(&hub);
    ledger.AddObserver(meter.get());
    ledger.AddObserver(&counts);
    ledger.AddObserver(&age);
  }

  const jobs::AdmissionLimits limits;
  jobs::Ledger ledger;
  jobs::WatchHub hub;
  const std::unique_ptr<jobs::JobObserver> meter;
  ops::JobCounts counts;
  ops::QueueAge age;
  jobs::Dispatch dispatch;
  jobs::Checkpoints checkpoints;
  jobs::Admission admission;
};

// The threads that run jobs, each in a process of its own.
struct Workers {
  Workers(const config::ServerFlags& flags, const Stores& stores,
          std::unique_ptr<worker::JobRunner> job_processes, Queue* queue, Recovery* recovery,
          ops::Metrics* metrics, ops::Readiness* readiness)
      : storage({}, {.clock = &Clock::System(),
                     .probe = [blobs = stores.blobs.get()] { return blobs->Probe(); },
                     .on_change =
                         [readiness](const absl::Status& state) {
                           readiness->Set(ops::Readiness::Obstacle::kStorage, !state.ok(),
                                          state.message());
                         }}),
        processes(std::move(job_processes)),
        runner(ops::NewMeteredRunner(processes.get(), &Clock::System(), metrics)),
        pool({.workers = static_cast<int>(flags.workers),
              .keeps_checkpoints = flags.checkpoint_seconds > 0},
             {.ledger = &queue->ledger,
              .dispatch = &queue->dispatch,
              .checkpoints = &queue->checkpoints,
              .hub = &queue->hub,
              .runner = runner.get(),
              .storage = &storage,
              .clock = &Clock::System(),
              .prepare = [recovery] { return recovery->Run(); },
              // Shuts the server down as if SIGTERM had been sent from outside.
              .on_failure = [] { kill(getpid(), SIGTERM); }}) {}

  worker::StorageGate storage;
  const std::unique_ptr<worker::JobRunner> processes;
  const std::unique_ptr<worker::JobRunner> runner;
  worker::WorkerPool pool;
};

struct Services {
  Services(const config::ServerFlags& flags, const Stores& stores, Queue* queue, Workers* workers,
           const ops::Readiness* readiness)
      : blob_limits{.streams = {.count = static_cast<int>(flags.max_transfers),
                                .per_peer = static_cast<int>(flags.max_transfers_per_client)}},
        blobs(blob_limits, stores.sent.get(), stores.uploads.get(), &Clock::System()),
        models(&queue->admission, workers->runner.get(), &Clock::System()),
        optimizer({.watches = static_cast<int>(flags.max_watches),
                   .watches_per_peer = static_cast<int>(flags.max_watches_per_client)},
                  &queue->admission, stores.jobs.get(), &queue->hub, workers->runner.get(),
                  &Clock::System(), [readiness] { return readiness->StorageFailure(); }),
        capabilities(MakeCapabilities(flags, blob_limits, queue->limits)) {}

  const rpc::BlobLimits blob_limits;
  rpc::BlobService blobs;
  rpc::ModelService models;
  rpc::OptimizerService optimizer;
  rpc::CapabilitiesService capabilities;
  rpc::UnsentRequests requests{{}, &Clock::System()};
  rpc::UnreadReplies replies{{}, &Clock::System()};
};

absl::StatusOr<std::unique_ptr<rpc::GrpcServer>> Listen(const config::ServerFlags& flags,
                                                        Services* services, ops::Metrics* metrics) {
  rpc::GrpcServer::Interceptors interceptors;
  interceptors.push_back(ops::NewGrpcMeter(&Clock::System(), metrics));
  interceptors.push_back(services->requests.NewInterceptors());
  interceptors.push_back(services->replies.NewInterceptors());
  return rpc::GrpcServer::Start(
      {.listen = flags.listen,
       .allow_remote = flags.allow_remote,
       .max_chunk_bytes = services->blob_limits.max_chunk_bytes,
       .max_threads = services->blob_limits.streams.count + kThreadsOfOtherCalls,
       .max_streams_per_connection = static_cast<int>(std::min<int64_t>(
           flags.max_watches_per_client + kStreamsBesideWatches, std::numeric_limits<int>::max()))},
      {&services->blobs, &services->models, &services->optimizer, &services->capabilities},
      std::move(interceptors));
}

// Returns null if the server is to have no pages for people. Borrows all else.
std::unique_ptr<pages::ServerPages> MakePages(const config::ServerFlags& flags,
                                              const Stores& stores, Queue* queue,
                                              const ops::GpuMonitor* gpus,
                                              const ops::Readiness* readiness) {
  const bool is_local = rpc::IsLoopback(flags.metrics_listen);
  if (flags.status_page == "off" || (flags.status_page == "local" && !is_local)) return nullptr;
  return std::make_unique<pages::ServerPages>(
      pages::Settings{.version = QUOTIENT_VERSION,
                      .workers = static_cast<int>(flags.workers),
                      .is_local = flags.status_page == "local"},
      pages::Sources{.jobs = stores.jobs.get(),
                     .blobs = stores.blobs.get(),
                     .inventory = stores.blobs.get(),
                     .hub = &queue->hub,
                     .counts = &queue->counts,
                     .age = &queue->age,
                     .readiness = readiness,
                     .gpus = gpus,
                     .clock = &Clock::System()});
}

// Returns null if --metrics-listen is empty.
absl::StatusOr<std::unique_ptr<ops::Exporter>> ExportMetrics(
    const config::ServerFlags& flags, const Stores& stores, Queue* queue, ops::Metrics* metrics,
    const ops::GpuMonitor* gpus, const ops::Readiness* readiness, ops::Pages* pages) {
  metrics->Set(ops::MetricId::kBuildInfo, {QUOTIENT_VERSION, optimize::EngineVersion()}, 1);
  if (flags.metrics_listen.empty()) return std::unique_ptr<ops::Exporter>();
  QUOTIENT_ASSIGN_OR_RETURN(
      auto exporter,
      ops::Exporter::Start(
          flags.metrics_listen,
          {.collectables = {metrics->registry(), ops::NewJobCollector(&queue->counts, &queue->hub),
                            ops::NewQueueCollector(&queue->age, &queue->dispatch),
                            ops::NewUploadCollector(stores.uploads.get()),
                            ops::NewDiskCollector(stores.blobs.get()), ops::NewGpuCollector(gpus),
                            ops::NewProcessCollector()},
           .readiness = readiness,
           .pages = pages}));
  Log().info("metrics on http://{}/metrics", exporter->address());
  if (pages != nullptr) Log().info("status page on http://{}/", exporter->address());
  return exporter;
}

// Whoever routes calls to this server, such as a load balancer, learns only after a while that it
// is not ready any more. Until then calls are answered as before. A person who ends the server has
// nothing to wait for.
void AwaitEndpoints(const config::ServerFlags& flags, int signal_number,
                    const absl::Status& failure) {
  if (!flags.allow_remote || signal_number != SIGTERM || !failure.ok()) return;
  absl::SleepFor(absl::Seconds(flags.endpoint_grace_seconds));
}

absl::Status WritePortFile(const std::string& path, const std::string& address) {
  if (path.empty()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const auto file, os::AtomicFile::Create(path));
  QUOTIENT_RETURN_IF_ERROR(file->Append(absl::StrCat(address, "\n")));
  return file->Commit();
}

void Drain(const config::ServerFlags& flags, int signal_number, Queue* queue, Workers* workers,
           rpc::GrpcServer* server, ops::Readiness* readiness) {
  readiness->Set(ops::Readiness::Obstacle::kDraining, true);
  AwaitEndpoints(flags, signal_number, workers->pool.failure());
  queue->admission.Drain();
  os::FaultPoint("end.closed");
  workers->pool.Stop();
  os::FaultPoint("end.handed_back");
  queue->hub.Close();
  server->Shutdown(absl::Seconds(flags.drain_seconds));
  if (!flags.port_file.empty()) unlink(flags.port_file.c_str());
  Log().info("stopped");
}

// A disk that takes nothing is no reason not to serve: what is stored can be read, and what is
// deleted may be what makes room. Workers try again before they claim a job.
absl::Status TryToRecover(Recovery* recovery) {
  const absl::Status recovered = recovery->Run();
  if (GetReason(recovered) != Reason::kStorageDown) return recovered;
  Log().error("interrupted jobs are not taken up: {}", std::string(recovered.message()));
  return absl::OkStatus();
}

// A shell allows 1024 open files, and each connection is one.
void AllowAllFiles() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

absl::Status Serve(const config::ServerFlags& flags, const sigset_t& signals) {
  AllowAllFiles();
  os::DivideMemory(static_cast<int>(flags.workers));
  const std::unique_ptr<runner::JobGroups> groups = NewJobGroups(flags);
  ops::Metrics metrics;
  ops::Readiness readiness(&metrics);
  QUOTIENT_ASSIGN_OR_RETURN(const Stores stores, OpenStores(flags, &metrics));
  KnownDevices known(flags, stores);
  QUOTIENT_RETURN_IF_ERROR(CheckLibrary(flags, &known.devices));
  Queue::Present present;
  QUOTIENT_ASSIGN_OR_RETURN(present.counts, stores.jobs->CountByState());
  QUOTIENT_ASSIGN_OR_RETURN(present.waiting, ops::ReadWaitingSince(*stores.jobs));
  Queue queue(flags, stores, present, &known.devices, &metrics);
  Recovery recovery(stores.directory->run_path(), &queue.dispatch, &queue.checkpoints);
  QUOTIENT_RETURN_IF_ERROR(TryToRecover(&recovery));

  // Set below, before any process is asked for anything.
  std::function<void(const absl::Status&)> end;
  QUOTIENT_ASSIGN_OR_RETURN(auto processes,
                            NewJobProcesses(flags, stores, groups.get(), &known.devices, &metrics,
                                            [&end](const absl::Status& why) { end(why); }));
  Workers workers(flags, stores, std::move(processes), &queue, &recovery, &metrics, &readiness);
  end = [&workers](const absl::Status& why) { workers.pool.Fail(why); };
  Services services(flags, stores, &queue, &workers, &readiness);
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::GrpcServer> server,
                            Listen(flags, &services, &metrics));
  const ops::GpuMonitor gpus(ops::kNvmlLibrary, &Clock::System());
  const std::unique_ptr<pages::ServerPages> pages =
      MakePages(flags, stores, &queue, &gpus, &readiness);
  QUOTIENT_ASSIGN_OR_RETURN(
      const std::unique_ptr<ops::Exporter> exporter,
      ExportMetrics(flags, stores, &queue, &metrics, &gpus, &readiness, pages.get()));
  const ops::Ticker ticker(QuickChores(&queue.hub, &queue.dispatch, &queue.admission,
                                       &services.blobs, &services.requests, &services.replies));
  store::BlobScrubber scrubber(stores.blobs.get());
  jobs::Retention retention(LimitsOfRetention(flags), &queue.ledger, stores.blobs.get(),
                            &Clock::System(),
                            [sent = stores.sent.get()](const BlobId& id) { sent->Forget(id); });
  const ops::Ticker slow_ticker(SlowChores(flags, stores, &scrubber, &retention, &metrics));
  os::FaultPoint("start.listening");
  // On a full disk the server is not ready from the beginning.
  workers.storage.NothingToStore();
  workers.pool.Start();
  readiness.TellTo([&server](bool ready) { server->SetServing(ready); });
  // The pool, which outlives the server, may still find that storage fails.
  const auto tell_nobody = absl::MakeCleanup([&readiness] { readiness.TellTo([](bool) {}); });
  readiness.Set(ops::Readiness::Obstacle::kStarting, false);
  Log().info("quotientd {} serves on {}", QUOTIENT_VERSION, server->address());
  QUOTIENT_RETURN_IF_ERROR(WritePortFile(flags.port_file, server->address()));

  const int signal_number = WaitForSignal(signals);
  recovery.NoteTold();
  os::FaultPoint("end.told");
  Drain(flags, signal_number, &queue, &workers, server.get(), &readiness);
  return workers.pool.failure();
}

}  // namespace quotient
