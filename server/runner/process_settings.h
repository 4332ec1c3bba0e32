#pragma once

// What the server's end of the processes of jobs has to know.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "core/base/blob_id.h"
#include "core/optimize/options.h"
#include "core/os/environment.h"
#include "server/jobs/job.h"
#include "server/runner/job_groups.h"
#include "server/runner/process_end.h"
#include "server/runner/runner.pb.h"

namespace quotient::runner {

struct ProcessSettings {
  std::string program;  // The path of quotient-job.
  os::Environment environment;
  v1::Setup setup;
  std::string engine_version;  // The server's, which the program must have, too.
  double most_seconds = 3600;  // Of a job.
  double checkpoint_seconds = 30;
  double inspect_seconds = 60;  // Of a description or a validation.
  double verify_seconds = 600;  // Of a verification or a replay.
  // A job whose process has neither made progress nor left a checkpoint for so long, beside its
  // budget, is taken to hang. A pause of the server does not count.
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
  // Makes the control groups of processes. Null if the system lets the server make none.
  JobGroups* groups = nullptr;
  // Where a job gets an empty folder, its outbox.
  std::string outbox_place;
  // These are called from any thread. Takes over what a job has made for a client from its outbox,
  // which nobody writes any more and may hold anything. BLOB_CORRUPT or NOT_FOUND if that is not
  // the result.
  std::function<absl::Status(const std::string& client, const std::string& outbox,
                             const jobs::JobResult& result)>
      take = [](const auto&, const auto&, const auto&) { return absl::OkStatus(); };
  // When a blob was found damaged, when a run has told what it has done, and when a process has
  // ended.
  std::function<void(const BlobId&)> on_damage = [](const auto&) {};
  std::function<void(const v1::Figures&)> on_figures = [](const auto&) {};
  std::function<void(const ProcessEnd&)> on_end = [](const auto&) {};
  // When a question was not answered because the program is missing, does not work or is of another
  // build: PROGRAM_REPLACED.
  std::function<void(const absl::Status&)> on_replaced = [](const auto&) {};
};

}  // namespace quotient::runner
