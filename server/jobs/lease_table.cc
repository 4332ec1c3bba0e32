#include "server/jobs/lease_table.h"

#include "absl/strings/str_cat.h"

namespace quotient::jobs {
namespace {

absl::Status LeaseLost(const Lease& lease) {
  return absl::AbortedError(absl::StrCat("lease of job ", lease.job_id, " lost"));
}

}  // namespace

void LeaseTable::Add(const Lease& lease) {
  const int64_t until_ms = clock_.NowMs() + lease_ms_;
  absl::MutexLock lock(&mutex_);
  entries_[lease.job_id] = {std::make_shared<HeldLease>(lease), until_ms};
}

absl::StatusOr<Orders> LeaseTable::Renew(const Lease& lease) {
  const int64_t until_ms = clock_.NowMs() + lease_ms_;
  absl::MutexLock lock(&mutex_);
  const auto found = entries_.find(lease.job_id);
  if (found == entries_.end() || found->second.held->lease.epoch != lease.epoch) {
    return LeaseLost(lease);
  }
  found->second.until_ms = until_ms;
  return found->second.orders;
}

void LeaseTable::SetOrders(absl::string_view job_id, const Orders& orders) {
  absl::MutexLock lock(&mutex_);
  if (const auto found = entries_.find(job_id); found != entries_.end()) {
    found->second.orders = orders;
  }
}

absl::StatusOr<std::shared_ptr<HeldLease>> LeaseTable::Find(const Lease& lease) const {
  absl::MutexLock lock(&mutex_);
  const auto found = entries_.find(lease.job_id);
  if (found == entries_.end() || found->second.held->lease.epoch != lease.epoch) {
    return LeaseLost(lease);
  }
  return found->second.held;
}

void LeaseTable::Remove(const Lease& lease) {
  absl::MutexLock lock(&mutex_);
  const auto found = entries_.find(lease.job_id);
  if (found != entries_.end() && found->second.held->lease.epoch == lease.epoch) {
    entries_.erase(found);
  }
}

std::vector<std::shared_ptr<HeldLease>> LeaseTable::Expired() {
  const int64_t now_ms = clock_.NowMs();
  std::vector<std::shared_ptr<HeldLease>> expired;
  absl::MutexLock lock(&mutex_);
  for (const auto& [job_id, entry] : entries_) {
    if (entry.until_ms < now_ms) expired.push_back(entry.held);
  }
  return expired;
}

std::vector<std::shared_ptr<HeldLease>> LeaseTable::All() const {
  std::vector<std::shared_ptr<HeldLease>> all;
  absl::MutexLock lock(&mutex_);
  for (const auto& [job_id, entry] : entries_) all.push_back(entry.held);
  return all;
}

int LeaseTable::size() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(entries_.size());
}

}  // namespace quotient::jobs
