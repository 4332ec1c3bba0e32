#pragma once

// Places for calls that stream bytes: a bound on their number, and an end for those that stand
// still. Without it a few clients who say nothing could keep out all others.
//
//   const auto slot = slots.TryTake([context] { context->TryCancel(); });
//   if (slot == nullptr) return TooMany();
//   while (slot->AwaitPeer([&] { return reader->Read(&request); })) ...

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"

namespace quotient::rpc {

// Thread-safe.
class StreamSlots {
 public:
  class Slot;

  // Borrows the clock.
  StreamSlots(int count, const Clock* clock) : count_(static_cast<size_t>(count)), clock_(*clock) {}

  // Null if all are taken. `cancel` ends the stream from another thread; it is not called once the
  // slot is gone, and must neither block nor come back here.
  std::unique_ptr<Slot> TryTake(std::function<void()> cancel) ABSL_LOCKS_EXCLUDED(mutex_);

  // Cancels the streams whose peers are silent for so long. To be called now and then.
  void CancelIdle(int64_t idle_ms) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Stream {
    std::function<void()> cancel;
    std::optional<int64_t> waits_since_ns;  // for its peer; unset while we are at work
  };

  const size_t count_;
  const Clock& clock_;

  absl::Mutex mutex_;
  std::list<Stream> streams_ ABSL_GUARDED_BY(mutex_);
};

// One stream's place; its destruction gives it back.
class StreamSlots::Slot {
 public:
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // Runs a read or a write, which may wait for the peer, and returns what it returns.
  bool AwaitPeer(absl::FunctionRef<bool()> transfer);

 private:
  friend class StreamSlots;
  void SetWaitsSince(std::optional<int64_t> ns);
  Slot(StreamSlots* slots, std::list<Stream>::iterator place) : slots_(*slots), place_(place) {}

  StreamSlots& slots_;
  const std::list<Stream>::iterator place_;
};

}  // namespace quotient::rpc
