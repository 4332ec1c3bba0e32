#pragma once

// JobProcess: a process of quotient-job that serves one request, as the server sees it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/clock.h"
#include "core/os/child_process.h"
#include "core/os/environment.h"
#include "core/os/message_channel.h"
#include "server/jobs/awake_clock.h"
#include "server/runner/job_groups.h"
#include "server/runner/process_end.h"
#include "server/runner/process_settings.h"
#include "server/runner/protocol.h"
#include "server/runner/runner.pb.h"

namespace quotient::runner {

// POISONED: the process, or what it has made, is not as it should be.
absl::Status Poisoned(absl::string_view what);

// For one thread.
class JobProcess {
 public:
  // Called after each event, and at least every tenth of a second. Returns why the process must not
  // go on.
  using OnLook = absl::FunctionRef<absl::Status()>;
  using OnEvent = absl::FunctionRef<void(const v1::Event&)>;

  // Starts a process and tells it what to do. Borrows the settings and the clock. Fails with
  // PROGRAM_REPLACED if the program is not there, with STORAGE_DOWN if the system starts no
  // process, and like Tell.
  static absl::StatusOr<std::unique_ptr<JobProcess>> Start(const ProcessSettings& settings,
                                                           const os::Environment& environment,
                                                           const Clock* clock, v1::Request request);
  // Lets the process end in order, or kills it.
  ~JobProcess();
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

  // Fails with POISONED if the process does not take the message. If it ended before it began, with
  // STORAGE_DOWN if it had no memory, and else with PROGRAM_REPLACED: the program does not work.
  absl::Status Tell(absl::string_view message);
  // Blocks until the request is served. The process may be silent for so long. Fails like `on_look`
  // and Tell, with PROGRAM_REPLACED if the process is of another build, and with POISONED if it
  // dies, hangs or takes too much memory.
  absl::StatusOr<v1::Ended> Await(double silent_seconds, OnLook on_look, OnEvent on_event);
  // Milliseconds of the time that the server was not stopped.
  int64_t AwakeMs() { return awake_.NowMs(); }

 private:
  JobProcess(const ProcessSettings& settings, const Clock* clock,
             std::unique_ptr<os::ChildProcess> child, os::Fd socket)
      : settings_(settings),
        awake_(clock),
        child_(std::move(child)),
        channel_(std::move(socket), kMostMessageBytes) {}

  // Whether the process is in a control group of its own now. It has nothing to do yet.
  bool EnterGroup();
  // PROGRAM_REPLACED unless the first event is that of a process of this build. It comes before the
  // process reads a model, which could make it lie.
  absl::Status CheckBegun(const v1::Event& first);
  // Takes note of how the process has ended, and returns it as an error.
  absl::Status Died();
  // Returns nothing if nothing has come for a while.
  absl::StatusOr<std::optional<v1::Event>> Next();
  // Lets the process end before the next one starts, which it would disturb.
  v1::Ended Finished(const v1::Ended& ended);
  // Kills the process if it takes too much memory.
  absl::Status CheckMemory();
  // Returns what the process takes now.
  int64_t LookAtMemory();

  const ProcessSettings& settings_;
  jobs::AwakeClock awake_;
  std::unique_ptr<JobGroup> group_;  // Null if it has none.
  const std::unique_ptr<os::ChildProcess> child_;
  os::MessageChannel channel_;
  bool has_begun_ = false;                   // What happens from then on is the request's fault.
  ProcessFate fate_ = ProcessFate::kKilled;  // Unless it ends by itself.
  int64_t memory_look_ns_ = 0;
  int64_t memory_bytes_ = 0;  // The most that was seen.
};

}  // namespace quotient::runner
