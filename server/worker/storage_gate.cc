#include "server/worker/storage_gate.h"

#include <algorithm>
#include <string>

#include "core/base/log.h"

namespace quotient::worker {
namespace {

// How often an idle server looks whether results could be stored.
constexpr absl::Duration kBetweenLooks = absl::Seconds(30);

}  // namespace

void StorageGate::Failed(const absl::Status& failure, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  bytes_ = bytes;
  BeginPause();
  Log().error("storage fails, the next attempt is in {:.1f} s: {}", absl::ToDoubleSeconds(pause_),
              std::string(failure.message()));
  SetUp(false);
}

void StorageGate::Stored() {
  absl::MutexLock lock(&mutex_);
  pause_ = absl::ZeroDuration();
  closed_until_ns_ = 0;
  SetUp(true);
}

void StorageGate::NothingToStore() {
  absl::MutexLock lock(&mutex_);
  const int64_t now_ns = dependencies_.clock->NowNs();
  if (up_ && now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + absl::ToInt64Nanoseconds(kBetweenLooks);
  const absl::Status probed = dependencies_.probe(/*bytes=*/0);
  if (probed.ok()) return SetUp(true);
  if (up_) Log().error("storage fails while no job waits: {}", std::string(probed.message()));
  BeginPause();
  SetUp(false);
}

absl::Duration StorageGate::Closed() {
  absl::MutexLock lock(&mutex_);
  if (up_) return absl::ZeroDuration();
  const int64_t left_ns = closed_until_ns_ - dependencies_.clock->NowNs();
  if (left_ns > 0) return absl::Nanoseconds(left_ns);
  if (!dependencies_.probe(/*bytes=*/0).ok()) {
    BeginPause();
    return pause_;
  }
  // If it is not sure that there is room, a job tells.
  if (dependencies_.probe(bytes_).ok()) SetUp(true);
  return absl::ZeroDuration();
}

void StorageGate::SetUp(bool up) {
  if (up_ == up) return;
  up_ = up;
  if (up) Log().info("storage takes results again");
  dependencies_.on_change(up);
}

void StorageGate::BeginPause() {
  pause_ = std::min(std::max(2 * pause_, pauses_.first), pauses_.longest);
  closed_until_ns_ = dependencies_.clock->NowNs() + absl::ToInt64Nanoseconds(pause_);
}

}  // namespace quotient::worker
