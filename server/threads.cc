#include "server/threads.h"

#include <algorithm>
#include <optional>

#include "core/optimize/optimize.h"
#include "core/os/cpu_quota.h"

namespace quotient {

int ThreadsInQuota() {
  const std::optional<double> quota = os::CpuQuota();
  if (!quota.has_value() || *quota >= optimize::Options().ThreadsToUse()) return 0;
  return std::max(1, static_cast<int>(*quota));
}

int HashingThreads() {
  const int in_quota = ThreadsInQuota();
  const int cores = in_quota > 0 ? in_quota : optimize::Options().ThreadsToUse();
  return std::max(1, cores / 2);
}

}  // namespace quotient
