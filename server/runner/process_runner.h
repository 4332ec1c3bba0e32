#pragma once

// The JobRunner of the server: runs each job, and describes each model, in a process of its own
// (quotient-job), which may crash, hang or take all memory. Then the server goes on, and it is
// known which job did it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/os/environment.h"
#include "server/runner/runner.pb.h"
#include "server/worker/job_runner.h"

namespace quotient::runner {

// Checkpoints are in messages.
inline constexpr uint32_t kMostMessageBytes = 256 << 20;

// The exit status of a process that had no memory left.
inline constexpr int kExitOutOfMemory = 3;

struct ProcessSettings {
  std::string program;  // The path of quotient-job.
  os::Environment environment;
  v1::Setup setup;
  double most_seconds = 3600;  // Of a job.
  double checkpoint_seconds = 30;
  double inspect_seconds = 120;
  // A process that has neither made progress nor left a checkpoint for so long is taken to hang.
  double silent_seconds = 900;
  // How long a process may take to end when it was told to, or its time is up.
  double end_seconds = 20;
  // Is told of blobs that are found damaged, from any thread.
  std::function<void()> on_damage = [] {};
};

// Borrows the clock, which must be Clock::System or one with its time. Beside what the job's
// process returns, Run returns POISONED if the process has ended without a word or hangs,
// RUN_BUDGET if it did not end when its time was up, and STORAGE_DOWN if it cannot be started.
std::unique_ptr<worker::JobRunner> NewProcessRunner(ProcessSettings settings, const Clock* clock);

}  // namespace quotient::runner
