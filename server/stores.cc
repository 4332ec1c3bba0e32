#include "server/stores.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/os/fault_point.h"
#include "server/ops/metered.h"
#include "server/store/disk/ballast.h"
#include "server/store/disk/checkpoint_store.h"
#include "server/store/disk/upload_store.h"
#include "server/store/sqlite/job_store.h"
#include "server/threads.h"

namespace quotient {
namespace {

store::UploadLimits LimitsOfUploads(const config::ServerFlags& flags) {
  return {.max_open = static_cast<int>(flags.max_uploads),
          .max_open_per_client = static_cast<int>(flags.max_uploads_per_client),
          .max_bytes_per_client = flags.max_upload_bytes_per_client};
}

}  // namespace

void KeepBallast(const store::DataDirectory& directory, int64_t min_free_bytes) {
  const std::string path = directory.ballast_path();
  std::error_code failure;
  const std::filesystem::space_info disk =
      std::filesystem::space(std::filesystem::path(path).parent_path(), failure);
  if (failure) return;
  const absl::Status tended =
      store::TendBallast(path, static_cast<int64_t>(disk.available), min_free_bytes);
  if (!tended.ok()) Log().warn("{}", std::string(tended.message()));
}

absl::StatusOr<Stores> OpenStores(const config::ServerFlags& flags, ops::Metrics* metrics) {
  const Clock& clock = Clock::System();
  Stores stores;
  QUOTIENT_ASSIGN_OR_RETURN(stores.directory, store::DataDirectory::Open(flags.data_dir));
  os::FaultPoint("start.locked");
  KeepBallast(*stores.directory, flags.min_free_bytes);
  const auto keep_ballast = [directory = stores.directory.get(),
                             min_free_bytes = flags.min_free_bytes] {
    KeepBallast(*directory, min_free_bytes);
  };
  QUOTIENT_ASSIGN_OR_RETURN(
      stores.jobs, store::OpenSqliteJobStore(
                       stores.directory->database_path(), &clock,
                       {.min_free_bytes = flags.min_free_bytes, .on_failure = keep_ballast}));
  stores.jobs = ops::NewMeteredJobStore(std::move(stores.jobs), &clock, metrics);
  const store::DiskLimits limits{.max_blob_bytes = flags.max_blob_bytes,
                                 .min_free_bytes = flags.min_free_bytes};
  QUOTIENT_ASSIGN_OR_RETURN(
      stores.blobs, store::DiskBlobStore::Open(stores.directory->blobs_path(), limits, [metrics] {
        metrics->Add(ops::MetricId::kDamagedBlobs, {});
      }));
  stores.sent = std::make_unique<jobs::SentBlobs>(
      jobs::SentBlobs::Dependencies{.blobs = stores.blobs.get(),
                                    .inventory = stores.blobs.get(),
                                    .jobs = stores.jobs.get(),
                                    .clock = &clock,
                                    .on_removed =
                                        [metrics](const BlobId& id) {
                                          metrics->Add(ops::MetricId::kBlobsRemoved, {});
                                          metrics->Add(ops::MetricId::kBlobBytesRemoved, {},
                                                       static_cast<double>(id.size_bytes));
                                        }},
      flags.max_bytes_per_client);
  stores.hash_turns = std::make_unique<store::HashTurns>(HashingThreads());
  QUOTIENT_ASSIGN_OR_RETURN(
      stores.uploads,
      store::DiskUploadStore::Open(stores.directory->uploads_path(), stores.blobs.get(),
                                   LimitsOfUploads(flags), stores.hash_turns.get(), &clock,
                                   stores.sent.get()));
  stores.uploads = ops::NewMeteredUploadStore(std::move(stores.uploads), metrics);
  QUOTIENT_ASSIGN_OR_RETURN(
      stores.checkpoints,
      store::DiskCheckpointStore::Open(stores.directory->checkpoints_path(), stores.blobs.get()));
  stores.checkpoints =
      ops::NewMeteredCheckpointStore(std::move(stores.checkpoints), &clock, metrics);
  return stores;
}

}  // namespace quotient
