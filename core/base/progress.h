#pragma once

// What a running optimization tells whoever watches. Runs against the data flow, so it is small.

#include <cstdint>
#include <string>

namespace quotient {

struct Progress {
  // "read", "baseline", "search", "package", "verify", and "measure" where something can be run
  std::string phase;
  double elapsed_seconds = 0;   // since the start of the run
  double fraction = 0;          // of this phase, 0 to 1; an estimate
  double original_cost_us = 0;  // predicted; 0 until known
  // Of the search: the cost of the best graph so far as a share of the original's, both summed over
  // e-nodes, which is what a search goes by and no prediction; 0 until known, and in other phases.
  double best_share = 0;
  int64_t enodes = 0;  // size of the e-graph
  std::string detail;  // one short line for people
};

class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  // Called from the optimizing thread, at most a few times a second; must not block.
  virtual void Report(const Progress& progress) = 0;
};

}  // namespace quotient
