#pragma once

// Who is to blame when a process has died while it ran jobs. README.md explains the rules.

#include <cstddef>

namespace quotient::jobs {

// What is known of the end of the process that owned the store before this one.
struct LastEnd {
  enum class Kind {
    kUnknown,  // It left no word: it was killed from outside, or crashed.
    kTold,     // It had been told to end; if it was killed, then because it took too long.
    kRestart,  // The machine was started anew, or it was another machine.
  };
  Kind kind = Kind::kUnknown;
};

enum class Verdict {
  kInnocent,  // The attempt does not count.
  kSuspect,   // It or another one. The attempt does not count, but the next one runs alone.
  kGuilty,    // The attempt counts.
};

// Returns the verdict on each of so many jobs that ran then.
Verdict Judge(const LastEnd& end, size_t jobs);

}  // namespace quotient::jobs
