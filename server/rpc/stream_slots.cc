#include "server/rpc/stream_slots.h"

#include <iterator>
#include <utility>

namespace quotient::rpc {

std::unique_ptr<StreamSlots::Slot> StreamSlots::TryTake(std::function<void()> cancel) {
  absl::MutexLock lock(&mutex_);
  if (streams_.size() >= count_) return nullptr;
  streams_.push_back({std::move(cancel), std::nullopt});
  return std::unique_ptr<Slot>(new Slot(this, std::prev(streams_.end())));
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
