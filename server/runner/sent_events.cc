#include "server/runner/sent_events.h"

#include <cstddef>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/os/fault_point.h"
#include "proto/wire/progress.h"
#include "server/runner/protocol.h"

namespace quotient::runner {
namespace {

constexpr double kProgressSeconds = 0.1;  // At least so long is between two of one phase.
// Of a checkpoint. What is larger is not kept.
constexpr size_t kMostCheckpointBytes = kMostMessageBytes - (1 << 20);

}  // namespace

void Events::Send(const v1::Event& event) {
  const absl::MutexLock lock(&mutex_);
  // If this fails, the server is gone, which the listener sees, too.
  channel_.Send(event.SerializeAsString(), os::kNever).IgnoreError();
}

void SentProgress::Report(const Progress& progress) {
  // A search reports each simulation, and the server looks at each message.
  if (progress.phase == phase_ && Clock::System().SecondsSince(last_ns_) < kProgressSeconds) return;
  phase_ = progress.phase;
  last_ns_ = Clock::System().NowNs();
  v1::Event event;
  *event.mutable_progress() = wire::ToProto(progress);
  events_.Send(event);
}

SentCheckpoint::SentCheckpoint(const v1::Run& run, Events* events)
    : run_(run), events_(*events), last_ns_(Clock::System().NowNs()) {}

bool SentCheckpoint::Due() {
  return Clock::System().SecondsSince(last_ns_) >= run_.checkpoint_seconds();
}

void SentCheckpoint::Save(absl::string_view bytes) {
  last_ns_ = Clock::System().NowNs();
  if (bytes.size() > kMostCheckpointBytes) {
    Log().warn("a checkpoint of {} bytes is not kept", bytes.size());
    return;
  }
  v1::Event event;
  event.set_checkpoint(std::string(bytes));
  events_.Send(event);
  os::FaultPoint("job.checkpointed");
}

}  // namespace quotient::runner
