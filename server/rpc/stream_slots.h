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
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"

namespace quotient::rpc {

struct SlotLimits {
  int count = 64;
  int per_peer = 32;
  // If there is no slot for a new stream, it gets that of the stream that has waited for its peer
  // for longest, which is cancelled, if that is longer than this.
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

  // Returns null if all slots are taken, or all of this peer, by streams that do not wait for their
  // peers, or not for long. `cancel` must end the stream, and is called from another thread, at
  // most once. It is not called after the slot's destruction. It must not block or call this
  // object.
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
    bool is_cancelled = false;              // It will end soon, and does not count any more.
  };

  // Makes room for another stream, among those of the peer only if it is given. Returns whether it
  // could.
  bool CancelMostIdle(std::optional<absl::string_view> peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Cancel(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Uncount(const Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int CountOf(absl::string_view peer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SlotLimits limits_;
  const Clock& clock_;

  absl::Mutex mutex_;
  std::list<Stream> streams_ ABSL_GUARDED_BY(mutex_);
  // How many streams count, in all and by peer. There can be ten thousand, too many to count them
  // each time.
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, int> counts_ ABSL_GUARDED_BY(mutex_);
};

// The slot of one stream. Its destruction gives it back.
class StreamSlots::Slot {
 public:
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // Runs a read or write, which may wait for the peer, and returns its result.
  bool AwaitPeer(absl::FunctionRef<bool()> transfer);
  // Says that the stream waits for its peer from now on, until the slot is given back.
  void BeginToWait() { SetWaitsSince(slots_.clock_.NowNs()); }

 private:
  friend class StreamSlots;
  void SetWaitsSince(std::optional<int64_t> ns);
  Slot(StreamSlots* slots, std::list<Stream>::iterator place) : slots_(*slots), place_(place) {}

  StreamSlots& slots_;
  const std::list<Stream>::iterator place_;
};

}  // namespace quotient::rpc
