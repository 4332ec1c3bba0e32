#pragma once

// Who is to blame when a process has died while it ran jobs. README.md explains the rules.

#include <span>
#include <string>
#include <vector>

#include "server/jobs/job.h"

namespace quotient::jobs {

// What is known of the end of the process that owned the store before this one.
struct LastEnd {
  enum class Kind {
    kUnknown,  // It left no word: it was killed from outside, or had no stack left to write one.
    kTold,     // It had been told to end; if it was killed, then because it took too long.
    kRestart,  // The machine was started anew, or it was another machine.
    kCrash,    // A fatal signal, or an exception that nobody caught.
  };
  Kind kind = Kind::kUnknown;
  std::string thread;  // kCrash: the name of the thread, or of the one that started it.
};

enum class Verdict {
  kInnocent,  // The attempt does not count.
  kSuspect,   // It or another one. The attempt does not count, but the next one runs alone.
  kGuilty,    // The attempt counts.
};

// Returns a verdict on each of the jobs that ran then, by their leases, whose owners have the names
// of the workers' threads.
std::vector<Verdict> Judge(const LastEnd& end, std::span<const Lease> leases);

}  // namespace quotient::jobs
