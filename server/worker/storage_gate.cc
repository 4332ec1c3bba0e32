#include "server/worker/storage_gate.h"

#include <algorithm>
#include <string>

#include "core/base/log.h"

namespace quotient::worker {
namespace {

// How often an idle server looks whether results could be stored.
constexpr absl::Duration kBetweenLooks = absl::Seconds(30);

}  // namespace

void StorageGate::Failed(const absl::Status& failure) {
  absl::MutexLock lock(&mutex_);
  BeginPause();
  Log().error("storage fails, the next attempt is in {:.1f} s: {}", absl::ToDoubleSeconds(pause_),
              std::string(failure.message()));
  SetState(failure);
}

bool StorageGate::TakesSome() {
  absl::MutexLock lock(&mutex_);
  return dependencies_.probe().ok();
}

void StorageGate::Stored() {
  absl::MutexLock lock(&mutex_);
  pause_ = absl::ZeroDuration();
  closed_until_ns_ = 0;
  SetState(absl::OkStatus());
}

void StorageGate::NothingToStore() {
  absl::MutexLock lock(&mutex_);
  const int64_t now_ns = dependencies_.clock->NowNs();
  if (up_ && now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + absl::ToInt64Nanoseconds(kBetweenLooks);
  const absl::Status probed = dependencies_.probe();
  if (probed.ok()) return SetState(absl::OkStatus());
  if (up_) Log().error("storage fails while no job waits: {}", std::string(probed.message()));
  BeginPause();
  SetState(probed);
}

absl::Duration StorageGate::Closed() {
  absl::MutexLock lock(&mutex_);
  if (up_) return absl::ZeroDuration();
  const int64_t left_ns = closed_until_ns_ - dependencies_.clock->NowNs();
  if (left_ns > 0) return absl::Nanoseconds(left_ns);
  if (!dependencies_.probe().ok()) {
    BeginPause();
    return pause_;
  }
  SetState(absl::OkStatus());
  return absl::ZeroDuration();
}

void StorageGate::SetState(const absl::Status& state) {
  if (up_ == state.ok()) return;
  up_ = state.ok();
  if (up_) Log().info("storage takes results again");
  dependencies_.on_change(state);
}

void StorageGate::BeginPause() {
  pause_ = std::min(std::max(2 * pause_, pauses_.first), pauses_.longest);
  closed_until_ns_ = dependencies_.clock->NowNs() + absl::ToInt64Nanoseconds(pause_);
}

}  // namespace quotient::worker
