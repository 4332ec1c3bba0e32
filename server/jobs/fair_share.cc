#include "server/jobs/fair_share.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace quotient::jobs {
namespace {

double Advance(const QueueHead& head) {
  return 1e-3 * static_cast<double>(JobPolicy::kMsPerLevel) * head.priority;
}

}  // namespace

const QueueHead& FairShare::Next(std::span<const QueueHead> heads) {
  double least = std::numeric_limits<double>::infinity();
  for (const QueueHead& head : heads) least = std::min(least, StartOf(head.client));
  virtual_time_ = std::max(virtual_time_, least);
  std::erase_if(start_, [this](const auto& entry) { return entry.second <= virtual_time_; });
  return *std::ranges::min_element(heads, [this](const QueueHead& a, const QueueHead& b) {
    return std::tuple(StartOf(a.client) - Advance(a), a.rank, a.client) <
           std::tuple(StartOf(b.client) - Advance(b), b.rank, b.client);
  });
}

void FairShare::Began(absl::string_view client, double expected_seconds) {
  start_[std::string(client)] = StartOf(client) + expected_seconds;
}

void FairShare::Ended(absl::string_view client, double expected_seconds, double seconds) {
  const auto found = start_.find(client);
  if (found != start_.end()) found->second += seconds - expected_seconds;
}

double FairShare::StartOf(absl::string_view client) const {
  const auto found = start_.find(client);
  return found == start_.end() ? virtual_time_ : std::max(virtual_time_, found->second);
}

}  // namespace quotient::jobs
