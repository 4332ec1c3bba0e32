#pragma once

// Runs work in a process of its own: work on rule text that may end its process (the right side of
// a rule cannot be built without a guard that it lacks), never end, or take all memory.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace quotient::prove {

struct ApartLimits {
  unsigned seconds = 0;  // 0: as long as it takes.
  // Of the address space; 0: what this process may have. Sanitizers need more and have no limit.
  int64_t memory_bytes = 0;
};

// The longest answer that is taken, in bytes.
inline constexpr size_t kMostAnswer = 1 << 20;

// Returns what `work` returned there; blocks until it has. What the work prints to standard error
// is dropped, and it prints nothing to standard output. ABORTED, with the signal or status, if the
// process ended without an answer; DEADLINE_EXCEEDED if it had none in time; RESOURCE_EXHAUSTED for
// an answer that is too long; INTERNAL if there is no process to be had.
absl::StatusOr<std::string> RunApart(const std::function<std::string()>& work,
                                     const ApartLimits& limits = {});

}  // namespace quotient::prove
