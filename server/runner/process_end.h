#pragma once

// How the process of a job has ended, for whoever keeps account of them.

#include <cstdint>

namespace quotient::runner {

enum class ProcessFate {
  kOk,      // It has done what it was asked for.
  kError,   // It has said why it could not.
  kDied,    // It ended without a word.
  kKilled,  // It was ended: it hung, took too much memory, or did not end when it was told to.
};

struct ProcessEnd {
  ProcessFate fate = ProcessFate::kKilled;
  // The most memory of its own that it was seen to have, which is looked at now and then; 0 if
  // unknown.
  int64_t memory_bytes = 0;
};

}  // namespace quotient::runner
