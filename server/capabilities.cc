#include "server/capabilities.h"

#include <cstdint>
#include <string>

#include "core/optimize/optimize.h"

namespace quotient {
namespace {

constexpr int64_t kSecondsPerDay = int64_t{24} * 3600;

}  // namespace

v1::Capabilities MakeCapabilities(const config::ServerFlags& flags,
                                  const rpc::BlobLimits& blob_limits,
                                  const jobs::AdmissionLimits& job_limits) {
  v1::Capabilities capabilities;
  capabilities.set_server_version(QUOTIENT_VERSION);
  capabilities.set_engine_version(std::string(optimize::EngineVersion()));
  capabilities.set_max_chunk_bytes(blob_limits.max_chunk_bytes);
  capabilities.set_max_blob_bytes(flags.max_blob_bytes);
  capabilities.set_max_queued_jobs(job_limits.max_queued);
  capabilities.set_max_queued_jobs_per_client(job_limits.max_queued_per_client);
  capabilities.set_max_bytes_per_client(job_limits.max_bytes_per_client);
  capabilities.set_min_priority(-jobs::JobPolicy::kMostPriority);
  capabilities.set_max_priority(jobs::JobPolicy::kMostPriority);
  capabilities.set_keep_jobs_seconds(flags.keep_days * kSecondsPerDay);
  capabilities.set_max_external_files(job_limits.max_external_files);
  capabilities.set_workers(static_cast<int>(flags.workers));
  capabilities.add_digest_kinds("sha256");
  capabilities.set_api_version_min("v1");
  capabilities.set_api_version_max("v1");
  return capabilities;
}

}  // namespace quotient
