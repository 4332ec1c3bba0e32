#include "server/rpc/stream_slots.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace quotient::rpc {

std::unique_ptr<StreamSlots::Slot> StreamSlots::TryTake(absl::string_view peer,
                                                        std::function<void()> cancel) {
  absl::MutexLock lock(&mutex_);
  const auto of_peer = std::ranges::count(streams_, peer, &Stream::peer);
  if (of_peer >= limits_.per_peer) {
    CancelMostIdle(peer);
    return nullptr;
  }
  if (static_cast<int>(streams_.size()) >= limits_.count) {
    CancelMostIdle(std::nullopt);
    return nullptr;
  }
  streams_.push_back({std::string(peer), std::move(cancel), std::nullopt});
  return std::unique_ptr<Slot>(new Slot(this, std::prev(streams_.end())));
}

void StreamSlots::CancelMostIdle(std::optional<absl::string_view> peer) {
  int64_t oldest_ns = clock_.NowNs() - limits_.spared_idle_ms * 1'000'000;
  const Stream* most_idle = nullptr;
  for (const Stream& stream : streams_) {
    if (peer.has_value() && stream.peer != *peer) continue;
    if (!stream.waits_since_ns.has_value() || *stream.waits_since_ns >= oldest_ns) continue;
    oldest_ns = *stream.waits_since_ns;
    most_idle = &stream;
  }
  if (most_idle != nullptr) most_idle->cancel();
}

void StreamSlots::CancelIdle(int64_t idle_ms) {
  absl::MutexLock lock(&mutex_);
  const int64_t since_ns = clock_.NowNs() - idle_ms * 1'000'000;
  for (const Stream& stream : streams_) {
    if (stream.waits_since_ns.has_value() && *stream.waits_since_ns < since_ns) stream.cancel();
  }
}

StreamSlots::Slot::~Slot() {
  absl::MutexLock lock(&slots_.mutex_);
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
