#include "server/worker/leased_checkpoint.h"

#include "core/base/log.h"

namespace quotient::worker {

std::string LeasedCheckpoint::Load() {
  std::string bytes = checkpoints_.Find(lease_.job_id);
  if (!bytes.empty()) Log().info("job {}: goes on from a checkpoint", lease_.job_id);
  return bytes;
}

void LeasedCheckpoint::Save(absl::string_view bytes) {
  const absl::Status status = checkpoints_.Save(lease_, bytes);
  if (status.ok()) {
    Log().debug("job {}: checkpoint of {} bytes", lease_.job_id, bytes.size());
  } else {
    Log().warn("job {}: no checkpoint: {}", lease_.job_id, std::string(status.message()));
  }
}

}  // namespace quotient::worker
