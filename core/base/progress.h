#pragma once

// What a running optimization reports to its observer.

#include <cstdint>
#include <string>

namespace quotient {

struct Progress {
  // "read", "baseline", "search", "package", "verify"; also "measure" if something can be run.
  std::string phase;
  double elapsed_seconds = 0;   // Since the start of the run.
  double fraction = 0;          // Estimated progress of this phase, 0 to 1.
  double original_cost_us = 0;  // Predicted; 0 until known.
  // During the search: the cost of the best graph so far divided by the original's, both summed
  // over e-nodes. The search minimizes it, but it does not predict the time. 0 until known and in
  // other phases.
  double best_share = 0;
  int64_t enodes = 0;  // Size of the e-graph.
  std::string detail;  // A short line for people.
};

class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  // Called by the optimizing thread, at most a few times a second. Must not block.
  virtual void Report(const Progress& progress) = 0;
};

}  // namespace quotient
