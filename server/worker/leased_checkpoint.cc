#include "server/worker/leased_checkpoint.h"

#include "core/base/log.h"

namespace quotient::worker {

LeasedCheckpoint::LeasedCheckpoint(jobs::Checkpoints* checkpoints, const jobs::Lease& lease,
                                   double seconds, const Clock* clock)
    : checkpoints_(*checkpoints),
      lease_(lease),
      seconds_(seconds),
      clock_(*clock),
      last_ns_(clock->NowNs()) {}

std::string LeasedCheckpoint::Load() {
  std::string bytes = checkpoints_.Find(lease_.job_id);
  if (!bytes.empty()) Log().info("job {}: goes on from a checkpoint", lease_.job_id);
  return bytes;
}

void LeasedCheckpoint::Save(absl::string_view bytes) {
  const int64_t start_ns = clock_.NowNs();
  const absl::Status status = checkpoints_.Save(lease_, bytes);
  last_ns_ = clock_.NowNs();
  if (status.ok()) {
    Log().debug("job {}: checkpoint of {} bytes in {:.3f} s", lease_.job_id, bytes.size(),
                clock_.SecondsSince(start_ns));
  } else {
    Log().warn("job {}: no checkpoint: {}", lease_.job_id, std::string(status.message()));
  }
}

}  // namespace quotient::worker
