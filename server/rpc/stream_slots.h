#pragma once

// Limits the number of concurrent calls that take long, in all and for each peer, and ends streams
// whose peer is silent or slow. Otherwise a few such clients could occupy all slots and keep out
// everyone else. If there is no slot left, a peer that has few gets one of who has most.
//
//   const auto slot = slots.Take(peer, cancel);
//   if (!slot.ok()) return slot.status();
//   while ((*slot)->AwaitPeer([&] { return reader->Read(&request); })) {
//     (*slot)->Moved(request.data().size());
//     ...
//   }

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "server/jobs/fair_places.h"

namespace quotient::rpc {

struct SlotLimits {
  // The last one is for peers that have none, so that those who come back at once leave a chance to
  // others.
  int count = 64;
  int per_peer = 32;
  // If there is no slot for a new stream, it gets that of the stream that has waited for its peer
  // for longest, which is cancelled, if that is longer than this. Nothing if it is the way of these
  // streams to wait, as of those that wait for news.
  std::optional<int64_t> spared_idle_ms = 5'000;
};

// Thread-safe.
class StreamSlots {
 public:
  class Slot;
  // A stream waits for its peer until so many bytes have moved, in whole messages. Who sends single
  // bytes would else never seem to wait.
  static constexpr int64_t kWorthwhileBytes = 64 << 10;

  // `what` names the streams in errors, such as "uploads and downloads". Borrows the clock.
  StreamSlots(const SlotLimits& limits, std::string what, const Clock* clock)
      : limits_(limits), what_(std::move(what)), clock_(*clock) {}
  // All slots must have been given back. The lock waits for the thread that gave back the last one,
  // which may still hold it.
  ~StreamSlots() { absl::MutexLock lock(&mutex_); }

  // Returns QUOTA_CALLS if this peer has all slots that it may have, and QUEUE_FULL if there is no
  // slot for it, or only the last one and it has others, unless a stream can be cancelled for this
  // one:
  // - one that has waited for its peer for long,
  // - or, if there is no slot for the peer, one that waits, of the peer that has most of them
  //   (jobs::FairPlaces).
  // `cancel` must end the stream, and is called from another thread, at most once. It may be called
  // after the slot's destruction, so it owns what it needs. It may end the stream at once, with the
  // destruction of its slot, in the same thread.
  absl::StatusOr<std::unique_ptr<Slot>> Take(absl::string_view peer, std::function<void()> cancel)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Cancels streams that have waited for their peers for longer than `idle_ms`. To be called
  // periodically.
  void CancelIdle(int64_t idle_ms) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Stream {
    std::string peer;
    std::function<void()> cancel;
    std::optional<int64_t> waits_since_ns;  // Set while the stream waits for its peer.
    // Since the last worthwhile bytes: how long it has waited before `waits_since_ns`, and how many
    // bytes have moved.
    int64_t waited_ns = 0;
    int64_t moved_bytes = 0;
    bool is_cancelled = false;  // It will end soon, and does not count any more.
  };

  // How long it has waited; nullopt if it does not wait now, or was cancelled.
  std::optional<int64_t> IdleNs(const Stream& stream) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The stream that has waited for longest, if longer than `least_ns`, among those for which
  // `is_eligible` holds. Null if there is none.
  Stream* MostIdle(int64_t least_ns, absl::FunctionRef<bool(const Stream&)> is_eligible)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Return a stream to be cancelled for one more of this peer. Null if there is none.
  Stream* FindRoomOfPeer(absl::string_view peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Stream* FindRoom(absl::string_view peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Take without calling the function that ends the stream whose slot it is, which is put into
  // `cancel_other`. That may end streams in this thread, which needs the lock.
  absl::StatusOr<std::unique_ptr<Slot>> TakeLocked(absl::string_view peer,
                                                   std::function<void()> cancel,
                                                   std::function<void()>* cancel_other)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts the stream no more. Returns what ends it, to be called without the lock.
  std::function<void()> Cancel(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SlotLimits limits_;
  const std::string what_;
  const Clock& clock_;

  absl::Mutex mutex_;
  std::list<Stream> streams_ ABSL_GUARDED_BY(mutex_);
  // Of the streams that count. There can be ten thousand, too many to count them each time.
  jobs::FairPlaces places_ ABSL_GUARDED_BY(mutex_);
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
  void BeginToWait();
  // Says how many bytes, for the sake of which the stream is there, came or went.
  void Moved(size_t bytes);

 private:
  friend class StreamSlots;
  void EndWaiting();
  Slot(StreamSlots* slots, std::list<Stream>::iterator place) : slots_(*slots), place_(place) {}

  StreamSlots& slots_;
  const std::list<Stream>::iterator place_;
};

}  // namespace quotient::rpc
