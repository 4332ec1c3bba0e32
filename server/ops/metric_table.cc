#include "server/ops/metric_table.h"

namespace quotient::ops {
namespace {

using enum MetricType;

const MetricSpec kTable[] = {
    {"quotient_build_info", kGauge, {"version", "engine"}, "Always 1; what is running."},
    {"quotient_ready", kGauge, {}, "1 while new jobs are taken."},
    {"quotient_draining", kGauge, {}, "1 after SIGTERM."},
    {"grpc_server_started_total", kCounter, {"grpc_service", "grpc_method"}, "Calls begun."},
    {"grpc_server_handled_total",
     kCounter,
     {"grpc_service", "grpc_method", "grpc_code"},
     "Calls ended, by status code."},
    {"grpc_server_handling_seconds",
     kHistogram,
     {"grpc_service", "grpc_method"},
     "Time from the beginning of a call to its status."},
    {"grpc_server_msg_received_total",
     kCounter,
     {"grpc_service", "grpc_method"},
     "Messages received."},
    {"grpc_server_msg_sent_total", kCounter, {"grpc_service", "grpc_method"}, "Messages sent."},
    {"quotient_jobs_submitted_total",
     kCounter,
     {"disposition"},
     "Submissions: new, joined to a job that waits or runs, or cache_hit."},
    {"quotient_jobs_finished_total",
     kCounter,
     {"state", "reason"},
     "Jobs that have ended; the reason is an error's or empty."},
    {"quotient_job_attempts_total",
     kCounter,
     {"end"},
     "Attempts by how they ended: finished, cancelled, lease_lost, device_lost, drained."},
    {"quotient_jobs", kGauge, {"state"}, "Jobs in the store."},
    {"quotient_job_queue_seconds", kHistogram, {}, "Time a job waited before its first attempt."},
    {"quotient_job_run_seconds", kHistogram, {"phase"}, "Time in each phase of a run."},
    {"quotient_job_result_total",
     kCounter,
     {"outcome", "device", "library"},
     "Results: improved, no_improvement; by device and the library that it was measured with."},
    {"quotient_watchers", kGauge, {}, "Open WatchJob streams."},
    {"quotient_uploads_total",
     kCounter,
     {"outcome"},
     "Uploads: committed, deduplicated, digest_mismatch, interrupted."},
    {"quotient_upload_bytes_total", kCounter, {}, "Bytes received in uploads."},
    {"quotient_storage_op_seconds", kHistogram, {"op"}, "Job store: time of write, read."},
    {"quotient_storage_errors_total", kCounter, {"op"}, "Job store: operations that failed."},
    {"process_cpu_seconds_total", kCounter, {}, "User and system time."},
    {"process_resident_memory_bytes", kGauge, {}, "Resident memory."},
    {"process_open_fds", kGauge, {}, "Open file descriptors."},
    {"process_max_fds", kGauge, {}, "Limit of open file descriptors."},
    {"process_start_time_seconds", kGauge, {}, "Start of the process, Unix time."},
};

}  // namespace

const MetricSpec& Spec(MetricId id) { return kTable[static_cast<int>(id)]; }

std::span<const MetricSpec> AllMetrics() { return kTable; }

}  // namespace quotient::ops
