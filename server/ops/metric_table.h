#pragma once

// The table of all metrics of the server. Names follow the conventions of Prometheus: base units,
// and _total for counters. Labels have few, fixed values; they never contain a job, a model or text
// that a user has typed.
//
// The table says which values labels have, so that counters and histograms exist from the start: a
// rate is known only between two values of a series, and the first event is often the one that
// matters. It also writes deploy/METRICS.md (metrics_page.h).

#include <span>
#include <string>
#include <vector>

namespace quotient::ops {

enum class MetricType { kCounter, kGauge, kHistogram };

enum class MetricId {
  // --- The server
  kBuildInfo,
  kReady,
  kStorageUp,
  kDraining,
  // --- Calls
  kGrpcStarted,
  kGrpcHandled,
  kGrpcHandlingSeconds,
  kGrpcReceived,
  kGrpcSent,
  // --- Jobs
  kJobsSubmitted,
  kJobsRefused,
  kJobsFinished,
  kJobAttempts,
  kJobs,
  kQueueOldestAge,
  kLeases,
  kJobQueueSeconds,
  kJobRunSeconds,
  kJobResults,
  kJobGain,
  kWatchers,
  // --- The processes of jobs, and what they do
  kJobProcesses,
  kJobProcessMemory,
  kDeviceFailures,
  kSearchSimulations,
  kSearchEnodes,
  kTimingMeasurements,
  kLaneWaitSeconds,
  // --- Devices
  kDeviceUp,
  kGpuUp,
  kGpuMemoryTotal,
  kGpuMemoryUsed,
  kGpuUtilization,
  kGpuTemperature,
  kGpuSmClock,
  kGpuThrottled,
  kGpuThrottledSeconds,
  kGpuErrors,
  // --- Storage
  kCheckpoints,
  kCheckpointBytes,
  kCheckpointSeconds,
  kUploads,
  kUploadBytes,
  kUploadsOpen,
  kUploadReservedBytes,
  kStoreOpSeconds,
  kStoreErrors,
  kDiskFreeBytes,
  kDamagedBlobs,
  kJobsRemoved,
  kBlobBytes,
  kBlobExcessBytes,
  kBlobsRemoved,
  kBlobBytesRemoved,
  // --- The process
  kProcessCpuSeconds,
  kProcessResidentBytes,
  kProcessOpenFds,
  kProcessMaxFds,
  kProcessStartTime,
};

struct MetricLabel {
  const char* name;
  // The values that it may have. Empty if they are known only when the server runs, or if
  // MetricSpec::series has them.
  std::vector<std::string> values = {};
};

// The values of a metric's labels, in the order of the labels.
using SeriesValues = std::vector<std::string>;

struct MetricSpec {
  MetricId id = {};
  const char* name = "";
  MetricType type = MetricType::kCounter;
  std::vector<MetricLabel> labels = {};
  const char* help = "";                 // Must be one line: a newline would break the page.
  std::span<const double> buckets = {};  // Upper bounds, of a histogram.
  // Whether the value is read when it is scraped (collectors.h), and not kept by Metrics.
  bool is_collected = false;
  // The combinations of label values that occur. Empty if all combinations of the labels' values
  // do.
  std::vector<SeriesValues> series = {};
};

const MetricSpec& Spec(MetricId id);

// In the order of MetricId: rows are found by number.
std::span<const MetricSpec> AllMetrics();

// All series of a metric. Empty if they are known only when the server runs.
std::vector<SeriesValues> SeriesOf(const MetricSpec& spec);

}  // namespace quotient::ops
