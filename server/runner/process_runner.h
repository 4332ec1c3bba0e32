#pragma once

// The JobRunner of the server: runs each job, and describes each model, in a process of its own
// (quotient-job), which may crash, hang or take all memory. Then the server goes on, and it is
// known which job did it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/optimize/options.h"
#include "core/os/environment.h"
#include "server/runner/process_end.h"
#include "server/runner/runner.pb.h"
#include "server/worker/job_runner.h"

namespace quotient::runner {

// The version of the messages.
inline constexpr int kProtocol = 7;

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
  double inspect_seconds = 60;  // Of a description or a validation.
  double verify_seconds = 600;
  // A process that has neither made progress nor left a checkpoint for so long, beside the budget
  // of its job, is taken to hang. A pause of the server does not count.
  double silent_seconds = 900;
  // How much memory of its own a process may take. Where it runs out, a container is often ended as
  // a whole, the server with it.
  int64_t most_bytes = INT64_MAX;
  // How long a process may take to end when it was cancelled.
  double end_seconds = 20;
  // What the server takes the device of a job for; empty if it does not know.
  std::function<std::string(const optimize::Options&)> fingerprint_of = [](const auto&) {
    return std::string();
  };
  // These are called from any thread: when a blob was found damaged, when a run has told what it
  // has done, and when a process has ended.
  std::function<void()> on_damage = [] {};
  std::function<void(const v1::Figures&)> on_figures = [](const auto&) {};
  std::function<void(const ProcessEnd&)> on_end = [](const auto&) {};
};

// Borrows the clock, by which silence is measured. Beside what the job's process returns, Run
// returns POISONED if the process has ended without a word, hangs or takes too much memory, and
// STORAGE_DOWN if it cannot be started or ends before it has begun; Inspect also returns
// RUN_BUDGET.
std::unique_ptr<worker::JobRunner> NewProcessRunner(ProcessSettings settings, const Clock* clock);

}  // namespace quotient::runner
