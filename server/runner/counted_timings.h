#pragma once

// A store of timings that counts the kernels whose times a job asked for.

#include <cstdint>
#include <memory>

#include "core/timing/store.h"

namespace quotient::runner {

struct TimingCounts {
  int64_t measured = 0;
  int64_t noisy = 0;        // TimingState::kNoisy
  int64_t unsupported = 0;  // TimingState::kUnsupported
  int64_t known = 0;        // Kernels that were in the store from before, each counted once.
};

// Thread-safe.
class CountedTimings : public timing::TimingStore {
 public:
  virtual TimingCounts counts() const = 0;
};

std::unique_ptr<CountedTimings> NewCountedTimings(std::unique_ptr<timing::TimingStore> store);

}  // namespace quotient::runner
