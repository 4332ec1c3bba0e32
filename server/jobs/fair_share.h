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
// A job is charged by what it is expected to take when it begins, and by what it took when it ends.

#include <cstdint>
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
  // Returns the one of these heads, of which there is at least one, that is next; of clients that
  // are equal that of the least rank.
  const QueueHead& Next(std::span<const QueueHead> heads);

  // A job of this client has begun, at this monotonic time, and is expected to take so long.
  void Began(const std::string& job_id, const std::string& client, double expected_seconds,
             int64_t now_ns);
  // It has ended. Ignored if it began before this object was made.
  void Ended(const std::string& job_id, int64_t now_ns);

 private:
  struct Account {
    double start = 0;  // When the next job begins, if that is after the virtual time.
    int running = 0;   // Jobs that have not ended.
  };
  struct Charge {
    std::string client;
    double expected_seconds = 0;
    int64_t begin_ns = 0;
  };

  double StartOf(absl::string_view client) const;

  double virtual_time_ = 0;
  // Those that are after the virtual time, or have running jobs, by client.
  std::map<std::string, Account, std::less<>> accounts_;
  std::map<std::string, Charge> charges_;  // Of running jobs, by their ids.
};

}  // namespace quotient::jobs
