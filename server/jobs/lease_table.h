#pragma once

// The leases of this process: who holds them, and until when. The store only knows that a job is
// leased, and to whom. When a lease ends is a matter of this process, and of the time during which
// it was awake; another process finds out from the lock of the data folder that this one is dead.
//
// What is done under a lease excludes that it ends meanwhile, by a mutex of the lease's own, so a
// slow disk makes nobody wait who has nothing to do with the job.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "server/jobs/awake_clock.h"
#include "server/jobs/job.h"

namespace quotient::jobs {

// A lease that is or was held. Its mutex is acquired before those of the ledger and the store.
struct HeldLease {
  explicit HeldLease(Lease held) : lease(std::move(held)) {}

  const Lease lease;
  absl::Mutex mutex;
  bool ended ABSL_GUARDED_BY(mutex) = false;
};

// What the holder of a lease is to do with its job.
struct Orders {
  bool cancel = false;
  bool finish = false;

  friend bool operator==(const Orders&, const Orders&) = default;
};

// Thread-safe.
class LeaseTable {
 public:
  LeaseTable(int64_t lease_ms, const Clock* clock) : lease_ms_(lease_ms), clock_(clock) {}

  // Begins a lease. An earlier one of the same job has ended.
  void Add(const Lease& lease) ABSL_LOCKS_EXCLUDED(mutex_);
  // Lets the lease begin anew. Returns ABORTED if it is lost.
  absl::StatusOr<Orders> Renew(const Lease& lease) ABSL_LOCKS_EXCLUDED(mutex_);
  // What Renew returns for this job from now on.
  void SetOrders(absl::string_view job_id, const Orders& orders) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns ABORTED if the lease is lost.
  absl::StatusOr<std::shared_ptr<HeldLease>> Find(const Lease& lease) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes a lease that has ended. The caller has set `ended` while it held the lease's mutex.
  void Remove(const Lease& lease) ABSL_LOCKS_EXCLUDED(mutex_);

  // Those that were not renewed in time.
  std::vector<std::shared_ptr<HeldLease>> Expired() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<HeldLease>> All() const ABSL_LOCKS_EXCLUDED(mutex_);
  int size() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::shared_ptr<HeldLease> held;
    int64_t until_ms = 0;  // By the clock of this table.
    Orders orders;
  };

  const int64_t lease_ms_;
  AwakeClock clock_;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // By job id.
};

}  // namespace quotient::jobs
