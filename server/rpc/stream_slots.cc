#include "server/rpc/stream_slots.h"

#include <iterator>
#include <utility>

namespace quotient::rpc {

std::unique_ptr<StreamSlots::Slot> StreamSlots::TryTake(absl::string_view peer,
                                                        std::function<void()> cancel) {
  absl::MutexLock lock(&mutex_);
  if (CountOf(peer) >= limits_.per_peer && !CancelMostIdle(peer)) return nullptr;
  if (count_ >= limits_.count && !CancelMostIdle(std::nullopt)) return nullptr;
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

bool StreamSlots::CancelMostIdle(std::optional<absl::string_view> peer) {
  int64_t oldest_ns = clock_.NowNs() - limits_.spared_idle_ms * 1'000'000;
  Stream* most_idle = nullptr;
  for (Stream& stream : streams_) {
    if (stream.is_cancelled || (peer.has_value() && stream.peer != *peer)) continue;
    if (!stream.waits_since_ns.has_value() || *stream.waits_since_ns >= oldest_ns) continue;
    oldest_ns = *stream.waits_since_ns;
    most_idle = &stream;
  }
  if (most_idle != nullptr) Cancel(*most_idle);
  return most_idle != nullptr;
}

void StreamSlots::CancelIdle(int64_t idle_ms) {
  absl::MutexLock lock(&mutex_);
  const int64_t since_ns = clock_.NowNs() - idle_ms * 1'000'000;
  for (Stream& stream : streams_) {
    const bool is_idle = stream.waits_since_ns.has_value() && *stream.waits_since_ns < since_ns;
    if (is_idle && !stream.is_cancelled) Cancel(stream);
  }
}

StreamSlots::Slot::~Slot() {
  absl::MutexLock lock(&slots_.mutex_);
  if (!place_->is_cancelled) slots_.Uncount(*place_);
  slots_.streams_.erase(place_);
}

bool StreamSlots::Slot::AwaitPeer(absl::FunctionRef<bool()> transfer) {
  SetWaitsSince(slots_.clock_.NowNs());
  const bool moved = transfer();
  SetWaitsSince(std::nullopt);
  return moved;
}

void StreamSlots::Slot::SetWaitsSince(std::optional<int64_t> ns) {
  absl::MutexLock lock(&slots_.mutex_);
  place_->waits_since_ns = ns;
}

}  // namespace quotient::rpc
