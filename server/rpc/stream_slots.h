#pragma once

// Limits the number of concurrent calls that take long, in all and for each peer, and ends streams
// whose peer is silent. Otherwise a few silent clients could occupy all slots and keep out everyone
// else.
//
//   const auto slot = slots.TryTake(PeerHost(context->peer()), [context] { context->TryCancel();
//   }); if (slot == nullptr) return TooMany(); while (slot->AwaitPeer([&] { return
//   reader->Read(&request); })) ...

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"

namespace quotient::rpc {

struct SlotLimits {
  int count = 64;
  int per_peer = 32;
  // If there is no slot for a new stream, the stream that has waited for its peer for longest is
  // cancelled, if that is longer than this. With it goes the slot, soon.
  int64_t spared_idle_ms = 5'000;
};

// Thread-safe.
class StreamSlots {
 public:
  class Slot;

  // Borrows the clock.
  StreamSlots(const SlotLimits& limits, const Clock* clock) : limits_(limits), clock_(*clock) {}
  // All slots must have been given back. The lock waits for the thread that gave back the last one,
  // which may still hold it.
  ~StreamSlots() { absl::MutexLock lock(&mutex_); }

  // Returns null if all slots are taken, or all of this peer. `cancel` must end the stream, and is
  // called from another thread. It is not called after the slot's destruction. It must not block or
  // call this object.
  std::unique_ptr<Slot> TryTake(absl::string_view peer, std::function<void()> cancel)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Cancels streams that have waited for their peers for longer than `idle_ms`. To be called
  // periodically.
  void CancelIdle(int64_t idle_ms) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Stream {
    std::string peer;
    std::function<void()> cancel;
    std::optional<int64_t> waits_since_ns;  // Set while the stream waits for its peer.
  };

  // Makes room for another stream, among those of the peer only if it is given.
  void CancelMostIdle(std::optional<absl::string_view> peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SlotLimits limits_;
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
