// Whatever the process of a job writes to its socket, the server's end takes it for events or ends
// the process; what it takes has room in lists and records of jobs, can be sent to clients, and can
// be counted.

#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/base/reason.h"
#include "core/os/child_process.h"
#include "core/os/message_channel.h"
#include "proto/wire/validation.h"
#include "quotient/v1/model.pb.h"
#include "server/jobs/convert.h"
#include "server/runner/answers.h"
#include "server/runner/protocol.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/named_blobs.h"
#include "tests/fuzz/rpc_checks.h"
#include "tests/fuzz/scripts.pb.h"
#include "tests/fuzz/understood.h"

namespace {

using namespace quotient;  // NOLINT: one file, one purpose
using quotient::fuzz::v1::ProcessScript;
using quotient::testing::Check;

// What a list can have room for, so that one job does not fill a page.
constexpr size_t kMostSummaryBytes = 128 << 10;
// What fits into a socket that nobody reads yet.
constexpr size_t kMostBytes = 64 << 10;

std::string Frame(absl::string_view message) {
  std::string frame;
  for (int i = 0; i < 4; ++i) frame += static_cast<char>(message.size() >> (8 * i));
  return frame.append(message.data(), message.size());
}

std::string BytesOf(ProcessScript& script) {
  testing::ResolveDigests(&script);
  std::string bytes;
  for (const auto& event : script.events()) bytes += Frame(event.SerializeAsString());
  return (bytes + script.rest()).substr(0, kMostBytes);
}

void CheckFigures(const runner::v1::Figures& figures) {
  for (const int64_t count :
       {figures.simulations(), figures.enodes(), figures.kernels_measured(),
        figures.kernels_noisy(), figures.kernels_unsupported(), figures.kernels_known()}) {
    Check(count >= 0, "counters only grow");
  }
  Check(figures.lane_wait_seconds() >= 0 && std::isfinite(figures.lane_wait_seconds()),
        "times can be summed");
  Check(!figures.has_gain_ratio() ||
            (figures.gain_ratio() > 0 && std::isfinite(figures.gain_ratio())),
        "gains can be summed");
}

// The job as lists and watchers see it.
void Show(const jobs::Job& job, const std::optional<Progress>& progress) {
  const v1::Job summary = jobs::ToSummary(job, progress);
  Check(summary.ByteSizeLong() <= kMostSummaryBytes, "a list has room for a job");
  testing::CheckAnswer(summary);
  testing::CheckAnswer(jobs::ToProto(job, progress));
}

// The process as one that answers a question: of its answer, whatever the question was, there is
// what the services send.
void Answer(const runner::v1::Ended& ended) {
  absl::Status failure = runner::FailureOf(ended);
  if (failure.ok()) failure = runner::CheckSize(ended);
  if (!failure.ok()) return;
  v1::InspectModelResponse summary;
  summary.set_summary_json(ended.summary_json());
  testing::CheckAnswer(summary);
  testing::CheckAnswer(wire::ToProto(wire::FromProto(ended.validation())));
  testing::CheckAnswer(ended.verification());
  const absl::StatusOr<worker::Replay> replay = runner::ReplayOf(ended);
  Check(replay.ok() ? replay->rewrites >= 0 && replay->model.size_bytes >= 0
                    : GetReason(replay.status()) == Reason::kPoisoned,
        "a replay makes a model, or the process is to blame", replay.status());
}

// The process as one that runs a job.
void End(jobs::Job job, const runner::v1::Ended& ended) {
  CheckFigures(runner::FiguresOf(ended));
  job.error = runner::FailureOf(ended);
  if (job.error.ok()) {
    const absl::StatusOr<jobs::JobResult> result = runner::ResultOf(ended);
    if (result.ok()) {
      job.result = *result;
    } else {
      Check(GetReason(result.status()) == Reason::kPoisoned, "a process is to blame for its words",
            result.status());
      job.error = result.status();
    }
  }
  job.state = job.error.ok() ? jobs::JobState::kSucceeded : jobs::JobState::kFailed;
  Show(job, std::nullopt);
  const absl::StatusOr<jobs::Job> again = jobs::FromProto(jobs::ToProto(job, std::nullopt));
  Check(again.ok() && again->result == job.result && again->state == job.state,
        "the end of a job can be stored", again.status());
}

void Hear(os::MessageChannel& channel) {
  const jobs::Job job{.id = "1"};
  bool understood = false;
  std::string message;
  while (channel.AwaitInput(os::kNever).ok() && channel.Receive(&message, os::kNever).ok()) {
    runner::v1::Event event;
    if (!event.ParseFromString(message)) return;
    if (!std::exchange(understood, true)) testing::NoteUnderstood();
    if (event.has_progress()) Show(job, runner::ProgressOf(event.progress()));
    if (!event.has_ended()) continue;
    End(job, event.ended());
    return Answer(event.ended());
  }
}

}  // namespace

QUOTIENT_MUTATES_MESSAGES(ProcessScript)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ProcessScript script;
  if (!script.ParseFromArray(data, static_cast<int>(size))) return 0;
  const std::string bytes = BytesOf(script);
  auto sockets = os::MakeSocketPair();
  Check(sockets.ok(), "there are sockets", sockets.status());
  os::MessageChannel process(std::move(sockets->theirs));
  Check(process.Write(bytes, os::kNever).ok(), "a socket has room");
  process.Close();
  os::MessageChannel channel(std::move(sockets->ours), runner::kMostMessageBytes);
  Hear(channel);
  return 0;
}
