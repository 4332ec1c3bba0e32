#include "server/worker/lease_keeper.h"

#include "core/base/log.h"

namespace quotient::worker {

LeaseKeeper::LeaseKeeper(jobs::Dispatch* dispatch, const jobs::Lease& lease,
                         absl::Duration interval, CancelToken* token)
    : dispatch_(*dispatch), lease_(lease), interval_(interval), token_(*token), thread_([this] {
        Run();
      }) {}

LeaseKeeper::~LeaseKeeper() { Stop(); }

bool LeaseKeeper::Stop() {
  stop_.Set();
  if (thread_.joinable()) thread_.join();
  absl::MutexLock lock(&mutex_);
  return !lost_;
}

void LeaseKeeper::Run() {
  while (RenewOnce()) {
    if (stop_.AwaitFor(interval_)) return;
  }
}

bool LeaseKeeper::RenewOnce() {
  const absl::StatusOr<jobs::Orders> orders = dispatch_.Renew(lease_);
  if (orders.ok()) {
    if (orders->cancel) token_.Cancel();
    if (orders->finish) token_.Finish(Clock::System());
    return true;
  }
  Log().warn("job {}: lease lost, stopping", lease_.job_id);
  token_.Cancel();
  absl::MutexLock lock(&mutex_);
  lost_ = true;
  return false;
}

}  // namespace quotient::worker
