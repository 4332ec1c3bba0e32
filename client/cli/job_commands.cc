// quotient submit, watch, result, cancel, stop, delete, jobs: the commands about jobs on a server.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/device_snapshot.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/progress_view.h"
#include "client/cli/remote.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/device_name.h"
#include "core/onnx/external.h"
#include "google/protobuf/util/time_util.h"
#include "proto/wire/digest.h"

namespace quotient::cli {
namespace {

constexpr int64_t kMaxLimit = 1'000'000;
constexpr double kMostSince = 1e9;  // Seconds

// Returns the time since `time`, such as "42s", "3m", "5h" or "2d".
std::string Age(const google::protobuf::Timestamp& time) {
  const int64_t seconds = std::max<int64_t>(0, Clock::System().UnixMs() / 1000 - time.seconds());
  if (seconds < 120) return absl::StrCat(seconds, "s");
  if (seconds < 7200) return absl::StrCat(seconds / 60, "m");
  if (seconds < 172800) return absl::StrCat(seconds / 3600, "h");
  return absl::StrCat(seconds / 86400, "d");
}

// Returns what a job is for, such as "onnxruntime: ONNX Runtime 1.31.1 on AMD EPYC 7B13, 2
// threads".
std::string DeviceText(const v1::Job& job) {
  const std::string name = kernels::ShortDevice(job.options().device());
  if (job.device_fingerprint().empty()) return name;
  return absl::StrCat(name, ": ", kernels::DeviceNameAndThreads(job.device_fingerprint()));
}

// Returns why a job that runs gets no further; empty if nothing stands against it.
std::string WaitText(const v1::Job& job) {
  if (job.progress().phase() != "storage") return "";
  return absl::StrCat("  waits for the server's storage: ", Escaped(job.progress().detail()));
}

void PrintJobLine(const v1::Job& job) {
  std::printf("%-26s %-10s %5s  %-28s %s%s\n", Escaped(job.name()).c_str(),
              client::StateName(job.state()).c_str(), Age(job.create_time()).c_str(),
              Escaped(job.model_name()).c_str(), Escaped(DeviceText(job)).c_str(),
              WaitText(job).c_str());
}

void PrintJob(const v1::Job& job, const Settings& settings) {
  if (settings.json) {
    PrintJson(job);
  } else {
    PrintJobLine(job);
  }
}

absl::StatusOr<v1::JobState> ParseState(const std::string& name) {
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  if (name.empty()) return state;
  if (v1::JobState_Parse(absl::StrCat("JOB_STATE_", absl::AsciiStrToUpper(name)), &state) &&
      state != v1::JOB_STATE_UNSPECIFIED) {
    return state;
  }
  return MakeError(Reason::kOptionInvalid,
                   absl::StrCat("--state: '", Escaped(name),
                                "' is not one of: ", absl::StrJoin(client::StateOptions(), ", ")));
}

// Returns the filter for the jobs that the options want.
absl::StatusOr<v1::ListJobsRequest> FilterOf(const Settings& settings) {
  v1::ListJobsRequest filter;
  QUOTIENT_ASSIGN_OR_RETURN(const v1::JobState state, ParseState(settings.state));
  filter.set_state(state);
  filter.set_client(settings.client);
  if (!settings.model_file.empty()) {
    QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel model,
                              client::LocalModel::Open(settings.model_file));
    filter.set_model_sha256(BlobId::Of(model.graph()).digest.Hex());
  }
  if (settings.since_seconds > 0) {
    const auto ms = static_cast<int64_t>(1000 * std::min(settings.since_seconds, kMostSince));
    *filter.mutable_created_after() =
        google::protobuf::util::TimeUtil::MillisecondsToTimestamp(Clock::System().UnixMs() - ms);
  }
  return filter;
}

// Returns the external data of the job's original model, to be fetched from the server. Borrows
// `blobs`.
absl::StatusOr<OriginalData> DataOf(const v1::Job& job, client::BlobClient* blobs) {
  OriginalData data;
  for (const v1::ModelManifest::ExternalFile& file : job.model().external_files()) {
    // The server is not trusted: its names must not lead out of the output folder.
    QUOTIENT_RETURN_IF_ERROR(onnx::CheckExternalLocation(file.location(), job.name(), {}));
    QUOTIENT_ASSIGN_OR_RETURN(const BlobId id, wire::FromProto(file.blob()));
    data.files[file.location()] = [blobs, id](ResultSource::Sink sink) {
      return blobs->Download(id, sink);
    };
  }
  return data;
}

}  // namespace

absl::Status RunSubmit(const Settings& parsed, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const Settings settings, WithDeviceSnapshot(parsed));
  QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel model,
                            client::LocalModel::Open(settings.positional[0]));
  QUOTIENT_ASSIGN_OR_RETURN(Remote remote, Connect(settings, interrupt));
  QUOTIENT_ASSIGN_OR_RETURN(const Submitted submitted, SubmitModel(model, settings, remote));
  if (settings.json) {
    PrintJson(submitted.job);
  } else {
    std::printf("%s\n", Escaped(submitted.job.name()).c_str());
  }
  return absl::OkStatus();
}

absl::Status RunWatch(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(Remote remote, Connect(settings, interrupt));
  const std::string& name = settings.positional[0];
  if (settings.json) {
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, remote.jobs->Watch(name, PrintJson));
    return OutcomeOf(job);
  }
  ProgressView view(stderr, isatty(STDERR_FILENO) != 0, &Clock::System());
  QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, WatchJob(name, remote, &view));
  PrintJobLine(job);
  return OutcomeOf(job);
}

absl::Status RunResult(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(Output output, Output::Prepare(settings, {}));
  QUOTIENT_ASSIGN_OR_RETURN(const Remote remote, Connect(settings, interrupt));
  QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, remote.jobs->Get(settings.positional[0]));
  QUOTIENT_RETURN_IF_ERROR(OutcomeOf(job));
  QUOTIENT_ASSIGN_OR_RETURN(const OriginalData original, DataOf(job, remote.blobs.get()));
  return output.Write(*NewRemoteResult(&job.result(), remote.blobs.get()), original);
}

absl::Status RunCancel(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const Remote remote, Connect(settings, interrupt));
  QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job,
                            remote.jobs->Cancel(settings.positional[0], /*request_id=*/""));
  PrintJob(job, settings);
  return absl::OkStatus();
}

absl::Status RunStop(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const Remote remote, Connect(settings, interrupt));
  QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, remote.jobs->Stop(settings.positional[0]));
  PrintJob(job, settings);
  return absl::OkStatus();
}

absl::Status RunDelete(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const Remote remote, Connect(settings, interrupt));
  return remote.jobs->Delete(settings.positional[0]);
}

absl::Status RunJobs(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const v1::ListJobsRequest filter, FilterOf(settings));
  if (settings.limit < 1 || settings.limit > kMaxLimit) {
    return MakeError(Reason::kOptionInvalid, "--limit: at least 1");
  }
  QUOTIENT_ASSIGN_OR_RETURN(const Remote remote, Connect(settings, interrupt));
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<v1::Job> jobs,
                            remote.jobs->List(filter, static_cast<int>(settings.limit)));
  for (const v1::Job& job : jobs) PrintJob(job, settings);
  return absl::OkStatus();
}

}  // namespace quotient::cli
