#include "server/jobs/last_end.h"

#include <algorithm>

#include "server/jobs/thread_names.h"

namespace quotient::jobs {

std::vector<Verdict> Judge(const LastEnd& end, std::span<const Lease> leases) {
  if (end.kind == LastEnd::Kind::kTold || end.kind == LastEnd::Kind::kRestart) {
    return std::vector<Verdict>(leases.size(), Verdict::kInnocent);
  }
  if (end.kind == LastEnd::Kind::kCrash && IsWorkOfOne(end.thread)) {
    std::vector<Verdict> verdicts(leases.size(), Verdict::kInnocent);
    std::ranges::transform(leases, verdicts.begin(), [&end](const Lease& lease) {
      return lease.owner == end.thread ? Verdict::kGuilty : Verdict::kInnocent;
    });
    return verdicts;
  }
  return std::vector<Verdict>(leases.size(),
                              leases.size() == 1 ? Verdict::kGuilty : Verdict::kSuspect);
}

}  // namespace quotient::jobs
