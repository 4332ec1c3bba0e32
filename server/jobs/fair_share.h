#pragma once

// Decides whose job is next when several clients have jobs waiting: start-time fair queuing (Goyal,
// Vin and Cheng, SIGCOMM 1996), with the virtual time of Linux's CFS.
//
// Each client has a time, in seconds of work, at which its next job begins: the work that was done
// for it so far, but never less than the virtual time, which is the least such time of all clients
// that wait. Who has had the least work is next. Who comes anew, or comes back after a pause,
// begins at the virtual time: a pause saves nothing up, and many jobs of one client do not make
// another wait for more than one of them.
//
// A level of priority brings a job forward by JobPolicy::kMsPerLevel of work. The client pays for
// the job as for any other, so it gets no more in the long run.

#include <functional>
#include <map>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "server/jobs/job_store.h"

namespace quotient::jobs {

// Thread-compatible. Its memory grows with the number of clients that were served recently.
class FairShare {
 public:
  // Returns the one of these heads, of which there is at least one, that is next.
  const QueueHead& Next(std::span<const QueueHead> heads);

  // A job of this client has begun, and is expected to take so long.
  void Began(absl::string_view client, double expected_seconds);
  // It has ended. Jobs that began before this object was made may end, too.
  void Ended(absl::string_view client, double expected_seconds, double seconds);

 private:
  double StartOf(absl::string_view client) const;

  double virtual_time_ = 0;
  // When the next job of a client begins, if that is after the virtual time.
  std::map<std::string, double, std::less<>> start_;
};

}  // namespace quotient::jobs
