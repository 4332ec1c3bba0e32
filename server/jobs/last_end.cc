#include "server/jobs/last_end.h"

namespace quotient::jobs {

Verdict Judge(const LastEnd& end, size_t jobs) {
  if (end.kind != LastEnd::Kind::kUnknown) return Verdict::kInnocent;
  return jobs == 1 ? Verdict::kGuilty : Verdict::kSuspect;
}

}  // namespace quotient::jobs
