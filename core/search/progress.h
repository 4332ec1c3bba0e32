#pragma once

// Progress: how far a search has come, including what it did before it was interrupted and resumed.
// Not thread-safe.

#include <cstdint>

#include "core/base/clock.h"
#include "core/search/checkpoint.h"
#include "core/search/incumbent.h"

namespace quotient::search {

class Progress {
 public:
  // Starts now. Borrows the clock.
  explicit Progress(const Clock* clock) : clock_(*clock), start_ns_(clock->NowNs()) {}

  // Moves the start back by the time that was spent before the search was resumed.
  void AddSeconds(double seconds) { start_ns_ -= static_cast<int64_t>(seconds * 1e9); }
  void CountSimulation() { ++simulations_; }

  double seconds() const { return clock_.SecondsSince(start_ns_); }
  int64_t simulations() const { return simulations_; }
  Incumbent::Moment Now() const { return {seconds(), simulations_}; }

  // For checkpoints.
  template <typename Stream>
  void VisitSimulations(Stream& stream) {
    stream.Number(simulations_, kMostCounted);
  }

 private:
  const Clock& clock_;
  int64_t start_ns_;
  int64_t simulations_ = 0;
};

}  // namespace quotient::search
