#pragma once

// The table of all metrics of the server. Names follow the conventions of Prometheus: base units,
// and _total for counters. Labels have few, fixed values; they never contain a job, a model or text
// that a user has typed.

#include <span>
#include <vector>

namespace quotient::ops {

enum class MetricType { kCounter, kGauge, kHistogram };

enum class MetricId {
  kBuildInfo,
  kReady,
  kStorageUp,
  kDraining,
  kGrpcStarted,
  kGrpcHandled,
  kGrpcHandlingSeconds,
  kGrpcReceived,
  kGrpcSent,
  kJobsSubmitted,
  kJobsFinished,
  kJobAttempts,
  kJobs,
  kJobQueueSeconds,
  kJobRunSeconds,
  kJobResults,
  kWatchers,
  kUploads,
  kUploadBytes,
  kUploadsOpen,
  kUploadReservedBytes,
  kStoreOpSeconds,
  kStoreErrors,
  kDamagedBlobs,
  kJobsRemoved,
  kBlobBytes,
  kBlobExcessBytes,
  kBlobsRemoved,
  kBlobBytesRemoved,
  kProcessCpuSeconds,
  kProcessResidentBytes,
  kProcessOpenFds,
  kProcessMaxFds,
  kProcessStartTime,
};

struct MetricSpec {
  MetricId id;
  const char* name;
  MetricType type;
  std::vector<const char*> labels;
  const char* help;  // Must be one line: a newline would break the page.
};

const MetricSpec& Spec(MetricId id);

// In the order of MetricId: rows are found by number.
std::span<const MetricSpec> AllMetrics();

}  // namespace quotient::ops
