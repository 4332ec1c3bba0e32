#pragma once

// The checkpoint of a running job. It is replaced only while the worker holds the lease.

#include <string>

#include "server/jobs/checkpoints.h"
#include "server/worker/job_runner.h"

namespace quotient::worker {

class LeasedCheckpoint : public KeptCheckpoint {
 public:
  // Borrows `checkpoints`.
  LeasedCheckpoint(jobs::Checkpoints* checkpoints, const jobs::Lease& lease)
      : checkpoints_(*checkpoints), lease_(lease) {}

  std::string Load() override;
  // A failure is only logged.
  void Save(absl::string_view bytes) override;

 private:
  jobs::Checkpoints& checkpoints_;
  const jobs::Lease lease_;
};

}  // namespace quotient::worker
