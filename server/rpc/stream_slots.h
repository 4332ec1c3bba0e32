#pragma once

// Limits the number of concurrent streaming calls and ends those whose peer is silent. Otherwise a
// few silent clients could occupy all slots and keep out everyone else.
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

  // Returns null if all slots are taken. `cancel` must end the stream, and is called from another
  // thread. It is not called after the slot's destruction. It must not block or call this object.
  std::unique_ptr<Slot> TryTake(std::function<void()> cancel) ABSL_LOCKS_EXCLUDED(mutex_);

  // Cancels streams that have waited for their peers for longer than `idle_ms`. To be called
  // periodically.
  void CancelIdle(int64_t idle_ms) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Stream {
    std::function<void()> cancel;
    std::optional<int64_t> waits_since_ns;  // Set while the stream waits for its peer.
  };

  const size_t count_;
  const Clock& clock_;

  absl::Mutex mutex_;
  std::list<Stream> streams_ ABSL_GUARDED_BY(mutex_);
};

// The slot of one stream. Its destruction gives it back.
class StreamSlots::Slot {
 public:
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // Runs a read or write, which may wait for the peer, and returns its result.
  bool AwaitPeer(absl::FunctionRef<bool()> transfer);

 private:
  friend class StreamSlots;
  void SetWaitsSince(std::optional<int64_t> ns);
  Slot(StreamSlots* slots, std::list<Stream>::iterator place) : slots_(*slots), place_(place) {}

  StreamSlots& slots_;
  const std::list<Stream>::iterator place_;
};

}  // namespace quotient::rpc
