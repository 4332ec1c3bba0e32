#include "server/jobs/fair_share.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace quotient::jobs {

const QueueHead& FairShare::Next(std::span<const QueueHead> heads) {
  double least = std::numeric_limits<double>::infinity();
  for (const QueueHead& head : heads) least = std::min(least, StartOf(head.client));
  virtual_time_ = std::max(virtual_time_, least);
  std::erase_if(accounts_, [this](const auto& entry) {
    return entry.second.running == 0 && entry.second.start <= virtual_time_;
  });
  return *std::ranges::min_element(heads, [this](const QueueHead& a, const QueueHead& b) {
    return std::tuple(StartOf(a.client), a.rank, a.client) <
           std::tuple(StartOf(b.client), b.rank, b.client);
  });
}

void FairShare::Began(const std::string& job_id, const std::string& client, double expected_seconds,
                      int64_t now_ns) {
  const double start = StartOf(client) + expected_seconds;
  Account& account = accounts_[client];
  account.start = start;
  ++account.running;
  charges_[job_id] = {client, expected_seconds, now_ns};
}

void FairShare::Ended(const std::string& job_id, int64_t now_ns) {
  const auto found = charges_.find(job_id);
  if (found == charges_.end()) return;
  const Charge charge = std::move(found->second);
  charges_.erase(found);
  Account& account = accounts_[charge.client];
  account.start += 1e-9 * static_cast<double>(now_ns - charge.begin_ns) - charge.expected_seconds;
  --account.running;
}

double FairShare::StartOf(absl::string_view client) const {
  const auto found = accounts_.find(client);
  return found == accounts_.end() ? virtual_time_ : std::max(virtual_time_, found->second.start);
}

}  // namespace quotient::jobs
