#include "server/rpc/stream_slots.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"

namespace quotient::rpc {

absl::StatusOr<std::unique_ptr<StreamSlots::Slot>> StreamSlots::Take(absl::string_view peer,
                                                                     std::function<void()> cancel) {
  absl::MutexLock lock(&mutex_);
  const bool replaces_own = CountOf(peer) >= limits_.per_peer;
  if (replaces_own && !MakeRoomOfPeer(peer)) {
    return MakeError(Reason::kQuotaCalls, absl::StrCat("too many ", what_, " of this client"));
  }
  const bool may_have_last = replaces_own || CountOf(peer) == 0;
  if (count_ >= limits_.count - (may_have_last ? 0 : 1) && !MakeRoom(peer)) {
    return MakeError(Reason::kQueueFull, absl::StrCat("too many ", what_, " of all clients"));
  }
  streams_.push_back({std::string(peer), std::move(cancel), std::nullopt});
  ++count_;
  ++counts_[peer];
  return std::unique_ptr<Slot>(new Slot(this, std::prev(streams_.end())));
}

int StreamSlots::CountOf(absl::string_view peer) const {
  const auto found = counts_.find(peer);
  return found == counts_.end() ? 0 : found->second;
}

void StreamSlots::Uncount(const Stream& stream) {
  --count_;
  const auto of_peer = counts_.find(stream.peer);
  if (--of_peer->second == 0) counts_.erase(of_peer);
}

void StreamSlots::Cancel(Stream& stream) {
  stream.is_cancelled = true;
  Uncount(stream);
  stream.cancel();
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

bool StreamSlots::MakeRoomOfPeer(absl::string_view peer) {
  Stream* const stream = MostIdle(limits_.spared_idle_ms * 1'000'000,
                                  [&](const Stream& other) { return other.peer == peer; });
  if (stream != nullptr) Cancel(*stream);
  return stream != nullptr;
}

bool StreamSlots::MakeRoom(absl::string_view peer) {
  Stream* stream =
      MostIdle(limits_.spared_idle_ms * 1'000'000, [](const Stream& /*other*/) { return true; });
  if (stream == nullptr) {
    const int least = CountOf(peer) + 2;
    stream = MostIdle(-1, [&](const Stream& other) {
      mutex_.AssertHeld();  // The analysis does not see who calls this.
      return CountOf(other.peer) >= least;
    });
  }
  if (stream != nullptr) Cancel(*stream);
  return stream != nullptr;
}

void StreamSlots::CancelIdle(int64_t idle_ms) {
  absl::MutexLock lock(&mutex_);
  for (Stream& stream : streams_) {
    if (IdleNs(stream).value_or(0) > idle_ms * 1'000'000) Cancel(stream);
  }
}

StreamSlots::Slot::~Slot() {
  absl::MutexLock lock(&slots_.mutex_);
  if (!place_->is_cancelled) slots_.Uncount(*place_);
  slots_.streams_.erase(place_);
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
