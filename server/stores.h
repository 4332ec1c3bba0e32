#pragma once

// The stores of quotientd, in its data folder.

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "server/config/flags.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/checkpoint_store.h"
#include "server/jobs/job_store.h"
#include "server/jobs/sent_blobs.h"
#include "server/ops/metrics.h"
#include "server/store/disk/blob_store.h"
#include "server/store/disk/data_directory.h"
#include "server/store/disk/hash_turns.h"

namespace quotient {

// Everything that outlives the process. Each store may use those before it.
struct Stores {
  std::unique_ptr<store::DataDirectory> directory;
  std::unique_ptr<jobs::JobStore> jobs;
  std::unique_ptr<store::DiskBlobStore> blobs;
  std::unique_ptr<jobs::SentBlobs> sent;
  std::unique_ptr<store::HashTurns> hash_turns;
  std::unique_ptr<jobs::UploadStore> uploads;
  std::unique_ptr<jobs::CheckpointStore> checkpoints;
};

// Keeps room for the database on a disk that others fill (ballast.h). To be called now and then.
void KeepBallast(const store::DataDirectory& directory, int64_t min_free_bytes);

// Opens all of them, wrapped in what counts their operations. Borrows the metrics.
absl::StatusOr<Stores> OpenStores(const config::ServerFlags& flags, ops::Metrics* metrics);

}  // namespace quotient
