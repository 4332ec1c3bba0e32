#pragma once

// A running job's checkpoint: written under the lease, so often at most.

#include <string>

#include "core/base/checkpoint_slot.h"
#include "core/base/clock.h"
#include "server/jobs/checkpoints.h"

namespace quotient::worker {

class LeasedCheckpoint : public CheckpointSlot {
 public:
  // Borrows the checkpoints and the clock.
  LeasedCheckpoint(jobs::Checkpoints* checkpoints, const jobs::Lease& lease, double seconds,
                   const Clock* clock);

  std::string Load() override;
  bool Due() override { return clock_.SecondsSince(last_ns_) >= seconds_; }
  // That it fails is logged; the job goes on.
  void Save(absl::string_view bytes) override;

 private:
  jobs::Checkpoints& checkpoints_;
  const jobs::Lease lease_;
  const double seconds_;
  const Clock& clock_;
  int64_t last_ns_;
};

}  // namespace quotient::worker
