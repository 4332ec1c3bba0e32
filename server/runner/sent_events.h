#pragma once

// What the process of a job tells the server while it works (runner.proto).

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/checkpoint_slot.h"
#include "core/base/progress.h"
#include "core/os/message_channel.h"
#include "server/runner/runner.pb.h"

namespace quotient::runner {

// Thread-safe. Borrows the channel, to which nobody else sends.
class Events {
 public:
  explicit Events(os::MessageChannel* channel) : channel_(*channel) {}

  // Waits until the server has taken the event, or is gone.
  void Send(const v1::Event& event) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  os::MessageChannel& channel_ ABSL_GUARDED_BY(mutex_);
};

// Sends the progress of a job: when a phase begins, and ten times a second. Borrows the events.
class SentProgress : public ProgressSink {
 public:
  explicit SentProgress(Events* events) : events_(*events) {}

  void Report(const Progress& progress) override;

 private:
  Events& events_;
  std::string phase_;
  int64_t last_ns_ = 0;
};

// Sends checkpoints of a job, which the server keeps. One is durable a little later than Save
// returns. Borrows both.
class SentCheckpoint : public CheckpointSlot {
 public:
  SentCheckpoint(const v1::Run& run, Events* events);

  std::string Load() override { return run_.checkpoint(); }
  bool Due() override;
  void Save(absl::string_view bytes) override;

 private:
  const v1::Run& run_;
  Events& events_;
  int64_t last_ns_;
};

}  // namespace quotient::runner
