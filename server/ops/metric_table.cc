#include "server/ops/metric_table.h"

#include <utility>

#include "server/ops/label_values.h"

namespace quotient::ops {
namespace {

using enum MetricId;
using enum MetricType;

// From a local database commit to a long job.
constexpr double kSeconds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                               2.5,   5,      10,    30,   60,    300,  600, 1800, 3600};
constexpr double kRatios[] = {0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 1, 1.05};
// From 64 MiB to 256 GiB.
constexpr double kBytes[] = {0x1p26, 0x1p27, 0x1p28, 0x1p29, 0x1p30, 0x1p31, 0x1p32,
                             0x1p33, 0x1p34, 0x1p35, 0x1p36, 0x1p37, 0x1p38};

void AddServer(std::vector<MetricSpec>* table) {
  table->push_back({.id = kBuildInfo,
                    .name = "quotient_build_info",
                    .type = kGauge,
                    .labels = {{"version"}, {"engine"}},
                    .help = "Always 1; what is running."});
  table->push_back({.id = kReady,
                    .name = "quotient_ready",
                    .type = kGauge,
                    .help = "1 while new jobs are taken and results can be stored."});
  table->push_back({.id = kStorageUp,
                    .name = "quotient_storage_up",
                    .type = kGauge,
                    .help = "0 while results cannot be stored."});
  table->push_back(
      {.id = kDraining, .name = "quotient_draining", .type = kGauge, .help = "1 after SIGTERM."});
}

void AddCalls(std::vector<MetricSpec>* table) {
  const std::vector<MetricLabel> method = {{"grpc_service"}, {"grpc_method"}, {"grpc_type"}};
  table->push_back({.id = kGrpcStarted,
                    .name = "grpc_server_started_total",
                    .labels = method,
                    .help = "Calls begun.",
                    .series = CalledMethods()});
  table->push_back({.id = kGrpcHandled,
                    .name = "grpc_server_handled_total",
                    .labels = {method[0], method[1], method[2], {"grpc_code"}},
                    .help = "Calls ended, by status code.",
                    .series = HandledCalls()});
  table->push_back({.id = kGrpcHandlingSeconds,
                    .name = "grpc_server_handling_seconds",
                    .type = kHistogram,
                    .labels = method,
                    .help = "Time from the beginning of a call to its status.",
                    .buckets = kSeconds,
                    .series = CalledMethods()});
  table->push_back({.id = kGrpcReceived,
                    .name = "grpc_server_msg_received_total",
                    .labels = method,
                    .help = "Messages received.",
                    .series = CalledMethods()});
  table->push_back({.id = kGrpcSent,
                    .name = "grpc_server_msg_sent_total",
                    .labels = method,
                    .help = "Messages sent.",
                    .series = CalledMethods()});
}

void AddJobs(std::vector<MetricSpec>* table) {
  table->push_back({.id = kJobsSubmitted,
                    .name = "quotient_jobs_submitted_total",
                    .labels = {{"disposition", {"new", "joined", "cache_hit"}}},
                    .help = "Submissions: of a new job, of one that waits or runs, or of one that "
                            "has a result."});
  table->push_back({.id = kJobsRefused,
                    .name = "quotient_jobs_refused_total",
                    .labels = {{"reason",
                                {"QUOTA_JOBS", "QUOTA_BYTES", "QUEUE_FULL", "DRAINING",
                                 "STORAGE_DOWN", "other"}}},
                    .help = "Submissions that were refused; most others are for the client to "
                            "mend, such as a file that is not there."});
  table->push_back({.id = kJobsFinished,
                    .name = "quotient_jobs_finished_total",
                    .labels = {{"state"}, {"reason"}},
                    .help = "Jobs that have ended; the reason is that of a failure, else empty.",
                    .series = FinishedJobs()});
  table->push_back({.id = kJobAttempts,
                    .name = "quotient_job_attempts_total",
                    .labels = {{"end",
                                {"finished", "cancelled", "drained", "interrupted", "storage_down",
                                 "process_died", "lease_lost", "device_lost"}}},
                    .help = "Attempts by how they ended; process_died, lease_lost and device_lost "
                            "count against the job."});
  table->push_back(
      {.id = kJobs,
       .name = "quotient_jobs",
       .type = kGauge,
       .labels = {{"state",
                   {"queued", "running", "cancelling", "succeeded", "failed", "cancelled"}}},
       .help = "Jobs in the store.",
       .is_collected = true});
  table->push_back({.id = kQueueOldestAge,
                    .name = "quotient_queue_oldest_age_seconds",
                    .type = kGauge,
                    .help = "How long that job has waited that has waited for longest, since it "
                            "came or came back to the queue; 0 if none waits.",
                    .is_collected = true});
  table->push_back({.id = kLeases,
                    .name = "quotient_leases",
                    .type = kGauge,
                    .help = "Leases that workers hold: one for each job that runs.",
                    .is_collected = true});
  table->push_back({.id = kJobQueueSeconds,
                    .name = "quotient_job_queue_seconds",
                    .type = kHistogram,
                    .help = "Time a job waited before its first attempt.",
                    .buckets = kSeconds});
  table->push_back(
      {.id = kJobRunSeconds,
       .name = "quotient_job_run_seconds",
       .type = kHistogram,
       .labels = {{"phase", {"read", "baseline", "search", "package", "verify", "measure"}}},
       .help = "Time in each phase of a run.",
       .buckets = kSeconds});
  table->push_back(
      {.id = kJobResults,
       .name = "quotient_job_result_total",
       .labels = {{"outcome", {"improved", "no_improvement"}}, {"device"}, {"library"}},
       .help = "Results, by the device and the library that they were measured with; "
               "a device has its series from the beginning of its first job on."});
  table->push_back({.id = kJobGain,
                    .name = "quotient_job_gain_ratio",
                    .type = kHistogram,
                    .help = "Time that a result takes, measured or else predicted, divided by that "
                            "of its original; 1 if the original came back.",
                    .buckets = kRatios});
  table->push_back({.id = kWatchers,
                    .name = "quotient_watchers",
                    .type = kGauge,
                    .help = "Open WatchJob streams.",
                    .is_collected = true});
}

void AddProcesses(std::vector<MetricSpec>* table) {
  table->push_back(
      {.id = kJobProcesses,
       .name = "quotient_job_processes_total",
       .labels = {{"end", {"ok", "error", "died", "killed"}}},
       .help = "Processes that ran a job or answered a question about a model: delivered, said "
               "why not, ended without a word, or were ended by the server."});
  table->push_back({.id = kJobProcessMemory,
                    .name = "quotient_job_process_memory_bytes",
                    .type = kHistogram,
                    .help = "Memory of its own that such a process had at most; it is looked at "
                            "twice a second and at the end.",
                    .buckets = kBytes});
  table->push_back({.id = kDeviceFailures,
                    .name = "quotient_device_failures_total",
                    .labels = {{"device", MeasuredDevices()}},
                    .help = "Runs of jobs in which their device failed, whether it recovered or "
                            "was lost."});
  table->push_back({.id = kSearchSimulations,
                    .name = "quotient_search_simulations_total",
                    .help = "Simulations of searches that led to a result."});
  table->push_back({.id = kSearchEnodes,
                    .name = "quotient_search_enodes_total",
                    .help = "E-nodes in the e-graphs of these searches at their end."});
  table->push_back({.id = kTimingMeasurements,
                    .name = "quotient_timing_measurements_total",
                    .labels = {{"outcome", {"measured", "noisy", "unsupported", "hit"}}},
                    .help = "Kernels whose time a job asked for: measured, measured on a machine "
                            "that was never quiet, found to be unsupported, or known before."});
  table->push_back({.id = kLaneWaitSeconds,
                    .name = "quotient_lane_wait_seconds_total",
                    .help = "Time in which a job had something to measure and waited for the "
                            "measurements of another one."});
}

void AddDevices(std::vector<MetricSpec>* table) {
  const std::vector<MetricLabel> gpu = {{"gpu"}, {"gpu_uuid"}};
  const auto add = [&](MetricId id, const char* name, const char* help) {
    table->push_back({.id = id,
                      .name = name,
                      .type = kGauge,
                      .labels = gpu,
                      .help = help,
                      .is_collected = true});
  };
  table->push_back({.id = kDeviceUp,
                    .name = "quotient_device_up",
                    .type = kGauge,
                    .labels = {{"device"}},
                    .help = "Whether the last job on the device could use it; a device has this "
                            "from the end of its first job on."});
  add(kGpuUp, "quotient_gpu_up",
      "Whether the GPU answers the driver's library for monitoring, NVML. The metrics "
      "quotient_gpu_* "
      "are there for GPUs of this machine that NVML knows; they are read at most every 5 s, and "
      "left "
      "out while the driver hangs.");
  add(kGpuMemoryTotal, "quotient_gpu_memory_total_bytes", "Memory of the GPU.");
  add(kGpuMemoryUsed, "quotient_gpu_memory_used_bytes",
      "Memory of the GPU that is taken, by any process.");
  add(kGpuUtilization, "quotient_gpu_utilization_ratio",
      "Share of the time, of about the last second, in which any kernel ran.");
  add(kGpuTemperature, "quotient_gpu_temperature_celsius", "Temperature of the GPU.");
  add(kGpuSmClock, "quotient_gpu_sm_clock_hertz", "Present clock of the multiprocessors.");
  table->push_back({.id = kGpuThrottled,
                    .name = "quotient_gpu_throttled",
                    .type = kGauge,
                    .labels = {gpu[0],
                               gpu[1],
                               {"cause",
                                {"power_cap", "hardware_slowdown", "sync_boost", "thermal",
                                 "hardware_thermal", "power_brake"}}},
                    .help = "Whether clocks are held down now for this cause.",
                    .is_collected = true});
  table->push_back(
      {.id = kGpuThrottledSeconds,
       .name = "quotient_gpu_throttled_seconds_total",
       .labels = {gpu[0],
                  gpu[1],
                  {"cause", {"power", "thermal", "sync_boost", "board_limit", "reliability"}}},
       .help = "Time in which clocks were held down, since the driver was loaded.",
       .is_collected = true});
  table->push_back(
      {.id = kGpuErrors,
       .name = "quotient_gpu_errors_total",
       .labels = {gpu[0], gpu[1], {"kind", {"ecc_corrected", "ecc_uncorrected", "xid"}}},
       .help = "Errors of memory since the driver was loaded, and critical errors that "
               "the driver has reported (Xid) since the server was started.",
       .is_collected = true});
}

void AddStorage(std::vector<MetricSpec>* table) {
  table->push_back({.id = kCheckpoints,
                    .name = "quotient_checkpoints_total",
                    .labels = {{"outcome", {"saved", "failed"}}},
                    .help = "Checkpoints of searches."});
  table->push_back({.id = kCheckpointBytes,
                    .name = "quotient_checkpoint_bytes_total",
                    .help = "Bytes of those that were saved."});
  table->push_back({.id = kCheckpointSeconds,
                    .name = "quotient_checkpoint_seconds",
                    .type = kHistogram,
                    .help = "Time in which a checkpoint was written.",
                    .buckets = kSeconds});
  table->push_back(
      {.id = kUploads,
       .name = "quotient_uploads_total",
       .labels = {{"outcome", {"committed", "deduplicated", "digest_mismatch", "interrupted"}}},
       .help = "Uploads."});
  table->push_back({.id = kUploadBytes,
                    .name = "quotient_upload_bytes_total",
                    .help = "Bytes received in uploads."});
  table->push_back({.id = kUploadsOpen,
                    .name = "quotient_uploads_open",
                    .type = kGauge,
                    .help = "Uploads that were begun and not ended.",
                    .is_collected = true});
  table->push_back({.id = kUploadReservedBytes,
                    .name = "quotient_upload_reserved_bytes",
                    .type = kGauge,
                    .help = "Room that these still need.",
                    .is_collected = true});
  table->push_back({.id = kStoreOpSeconds,
                    .name = "quotient_storage_op_seconds",
                    .type = kHistogram,
                    .labels = {{"op", {"write", "read"}}},
                    .help = "Job store: time of operations.",
                    .buckets = kSeconds});
  table->push_back({.id = kStoreErrors,
                    .name = "quotient_storage_errors_total",
                    .labels = {{"op", {"write", "read"}}},
                    .help = "Job store: operations that failed."});
  table->push_back({.id = kDiskFreeBytes,
                    .name = "quotient_disk_free_bytes",
                    .type = kGauge,
                    .help = "What the disk of the data folder has free.",
                    .is_collected = true});
  table->push_back({.id = kDamagedBlobs,
                    .name = "quotient_blobs_damaged_total",
                    .help = "Stored files that were found damaged and set aside."});
  table->push_back({.id = kJobsRemoved,
                    .name = "quotient_jobs_removed_total",
                    .labels = {{"cause", {"age", "space", "request"}}},
                    .help = "Jobs removed after their end: by age, for space, or by DeleteJob."});
  table->push_back({.id = kBlobBytes,
                    .name = "quotient_blob_bytes",
                    .type = kGauge,
                    .help = "Stored files, as of the last round that looked for unused ones (every "
                            "ten minutes)."});
  table->push_back({.id = kBlobExcessBytes,
                    .name = "quotient_blob_excess_bytes",
                    .type = kGauge,
                    .help = "What that round found to be too much, and could not remove, since it "
                            "is needed or was just used."});
  table->push_back({.id = kBlobsRemoved,
                    .name = "quotient_blobs_removed_total",
                    .help = "Stored files removed as unused."});
  table->push_back({.id = kBlobBytesRemoved,
                    .name = "quotient_blob_removed_bytes_total",
                    .help = "Bytes of the stored files that were removed as unused."});
}

void AddProcess(std::vector<MetricSpec>* table) {
  table->push_back({.id = kProcessCpuSeconds,
                    .name = "process_cpu_seconds_total",
                    .help = "User and system time.",
                    .is_collected = true});
  table->push_back({.id = kProcessResidentBytes,
                    .name = "process_resident_memory_bytes",
                    .type = kGauge,
                    .help = "Resident memory.",
                    .is_collected = true});
  table->push_back({.id = kProcessOpenFds,
                    .name = "process_open_fds",
                    .type = kGauge,
                    .help = "Open file descriptors.",
                    .is_collected = true});
  table->push_back({.id = kProcessMaxFds,
                    .name = "process_max_fds",
                    .type = kGauge,
                    .help = "Limit of open file descriptors.",
                    .is_collected = true});
  table->push_back({.id = kProcessStartTime,
                    .name = "process_start_time_seconds",
                    .type = kGauge,
                    .help = "Start of the process, Unix time.",
                    .is_collected = true});
}

std::vector<MetricSpec> MakeTable() {
  std::vector<MetricSpec> table;
  AddServer(&table);
  AddCalls(&table);
  AddJobs(&table);
  AddProcesses(&table);
  AddDevices(&table);
  AddStorage(&table);
  AddProcess(&table);
  return table;
}

}  // namespace

const MetricSpec& Spec(MetricId id) { return AllMetrics()[static_cast<size_t>(id)]; }

std::span<const MetricSpec> AllMetrics() {
  static const auto& table = *new std::vector<MetricSpec>(MakeTable());
  return table;
}

std::vector<SeriesValues> SeriesOf(const MetricSpec& spec) {
  if (!spec.series.empty()) return spec.series;
  std::vector<SeriesValues> all = {{}};
  for (const MetricLabel& label : spec.labels) {
    std::vector<SeriesValues> longer;
    for (const SeriesValues& values : all) {
      for (const std::string& value : label.values) {
        longer.push_back(values);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace quotient::ops
