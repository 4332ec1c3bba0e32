#pragma once

// The checkpoint slot of a running job. Checkpoints are written only while the worker holds the
// lease, and at a limited rate.

#include <string>

#include "core/base/checkpoint_slot.h"
#include "core/base/clock.h"
#include "server/jobs/checkpoints.h"

namespace quotient::worker {

class LeasedCheckpoint : public CheckpointSlot {
 public:
  // `seconds` is the least time between checkpoints. Borrows `checkpoints` and `clock`.
  LeasedCheckpoint(jobs::Checkpoints* checkpoints, const jobs::Lease& lease, double seconds,
                   const Clock* clock);

  std::string Load() override;
  bool Due() override { return clock_.SecondsSince(last_ns_) >= seconds_; }
  // A failure is only logged; the job continues.
  void Save(absl::string_view bytes) override;

 private:
  jobs::Checkpoints& checkpoints_;
  const jobs::Lease lease_;
  const double seconds_;
  const Clock& clock_;
  int64_t last_ns_;
};

}  // namespace quotient::worker
