#include "server/rpc/stream_slots.h"

#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"

namespace quotient::rpc {

absl::StatusOr<std::unique_ptr<StreamSlots::Slot>> StreamSlots::Take(absl::string_view peer,
                                                                     std::function<void()> cancel) {
  std::function<void()> cancel_other;
  absl::StatusOr<std::unique_ptr<Slot>> slot;
  {
    absl::MutexLock lock(&mutex_);
    slot = TakeLocked(peer, std::move(cancel), &cancel_other);
  }
  if (cancel_other) cancel_other();
  return slot;
}

absl::StatusOr<std::unique_ptr<StreamSlots::Slot>> StreamSlots::TakeLocked(
    absl::string_view peer, std::function<void()> cancel, std::function<void()>* cancel_other) {
  Stream* victim = nullptr;
  if (places_.Of(peer) >= limits_.per_peer) {
    victim = FindRoomOfPeer(peer);
    if (victim == nullptr) {
      return MakeError(Reason::kQuotaCalls, absl::StrCat("too many ", what_, " of this client"));
    }
  } else if (places_.all() >= limits_.count - (places_.Of(peer) == 0 ? 0 : 1)) {
    victim = FindRoom(peer);
    if (victim == nullptr) {
      return MakeError(Reason::kQueueFull, absl::StrCat("too many ", what_, " of all clients"));
    }
  }
  if (victim != nullptr) *cancel_other = Cancel(*victim);
  streams_.push_back({std::string(peer), std::move(cancel), std::nullopt});
  places_.Add(peer);
  return std::unique_ptr<Slot>(new Slot(this, std::prev(streams_.end())));
}

std::function<void()> StreamSlots::Cancel(Stream& stream) {
  stream.is_cancelled = true;
  places_.Remove(stream.peer);
  return std::move(stream.cancel);
}

std::optional<int64_t> StreamSlots::IdleNs(const Stream& stream) const {
  if (stream.is_cancelled || !stream.waits_since_ns.has_value()) return std::nullopt;
  return stream.waited_ns + clock_.NowNs() - *stream.waits_since_ns;
}

StreamSlots::Stream* StreamSlots::MostIdle(int64_t least_ns,
                                           absl::FunctionRef<bool(const Stream&)> is_eligible) {
  Stream* most_idle = nullptr;
  for (Stream& stream : streams_) {
    const std::optional<int64_t> idle_ns = IdleNs(stream);
    if (!idle_ns.has_value() || *idle_ns <= least_ns || !is_eligible(stream)) continue;
    least_ns = *idle_ns;
    most_idle = &stream;
  }
  return most_idle;
}

StreamSlots::Stream* StreamSlots::FindRoomOfPeer(absl::string_view peer) {
  if (!limits_.spared_idle_ms.has_value()) return nullptr;
  return MostIdle(*limits_.spared_idle_ms * 1'000'000,
                  [&](const Stream& other) { return other.peer == peer; });
}

StreamSlots::Stream* StreamSlots::FindRoom(absl::string_view peer) {
  if (limits_.spared_idle_ms.has_value()) {
    Stream* const idle =
        MostIdle(*limits_.spared_idle_ms * 1'000'000, [](const Stream& /*other*/) { return true; });
    if (idle != nullptr) return idle;
  }
  return places_.WhoGivesWay(streams_, peer, [this](const Stream& stream) {
    mutex_.AssertHeld();
    const std::optional<int64_t> idle_ns = IdleNs(stream);
    return idle_ns.has_value() ? std::optional(jobs::FairPlaces::Holder{stream.peer, *idle_ns})
                               : std::nullopt;
  });
}

void StreamSlots::CancelIdle(int64_t idle_ms) {
  std::vector<std::function<void()>> cancels;
  {
    absl::MutexLock lock(&mutex_);
    for (Stream& stream : streams_) {
      if (IdleNs(stream).value_or(0) > idle_ms * 1'000'000) cancels.push_back(Cancel(stream));
    }
  }
  for (const std::function<void()>& cancel : cancels) cancel();
}

StreamSlots::Slot::~Slot() {
  std::list<Stream> ended;  // What it owns is given back without the lock.
  absl::MutexLock lock(&slots_.mutex_);
  if (!place_->is_cancelled) slots_.places_.Remove(place_->peer);
  ended.splice(ended.begin(), slots_.streams_, place_);
}

bool StreamSlots::Slot::AwaitPeer(absl::FunctionRef<bool()> transfer) {
  BeginToWait();
  const bool moved = transfer();
  EndWaiting();
  return moved;
}

void StreamSlots::Slot::BeginToWait() {
  absl::MutexLock lock(&slots_.mutex_);
  place_->waits_since_ns = slots_.clock_.NowNs();
}

void StreamSlots::Slot::EndWaiting() {
  absl::MutexLock lock(&slots_.mutex_);
  place_->waited_ns += slots_.clock_.NowNs() - *place_->waits_since_ns;
  place_->waits_since_ns.reset();
}

void StreamSlots::Slot::Moved(size_t bytes) {
  absl::MutexLock lock(&slots_.mutex_);
  place_->moved_bytes += static_cast<int64_t>(bytes);
  if (place_->moved_bytes < kWorthwhileBytes) return;
  place_->moved_bytes = 0;
  place_->waited_ns = 0;
}

}  // namespace quotient::rpc
