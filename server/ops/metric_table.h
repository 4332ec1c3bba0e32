#pragma once

// Every metric of the server, in one table. Names follow Prometheus: base units, _total for
// counters. Labels take few, fixed values; never a job, a model or anything a user has typed.

#include <span>
#include <vector>

namespace quotient::ops {

enum class MetricType { kCounter, kGauge, kHistogram };

struct MetricSpec {
  const char* name;
  MetricType type;
  std::vector<const char*> labels;
  const char* help;  // one line: a newline would break the page
};

enum class MetricId {
  kBuildInfo,
  kReady,
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
  kStoreOpSeconds,
  kStoreErrors,
  kProcessCpuSeconds,
  kProcessResidentBytes,
  kProcessOpenFds,
  kProcessMaxFds,
  kProcessStartTime,
};

const MetricSpec& Spec(MetricId id);

// In the order of MetricId.
std::span<const MetricSpec> AllMetrics();

}  // namespace quotient::ops
