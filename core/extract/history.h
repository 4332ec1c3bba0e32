#pragma once

#include "core/extract/extract.h"

namespace quotient::extract {

// The greedy extraction of Hartmann, He, Yoneki, "Optimizing tensor computation graphs with
// equality saturation and Monte Carlo tree search" (PACT'24), for comparison. It works bottom-up
// like tree cost, but each class remembers what its cost is made of; when children of an e-node
// have parts in common, the later child does not pay for the largest of them again. It passes over
// all classes until none gets cheaper. Since at most one part is subtracted, and the order of
// children matters, its costs are neither tree nor DAG costs. Where its choices close a cycle,
// those of least tree cost are kept.
class HistoryExtractor : public Extractor {
 public:
  const char* name() const override { return "history"; }
  const char* optimal_for() const override { return "nothing"; }

 private:
  absl::StatusOr<Selection> Choose(const Problem& problem,
                                   const StopCondition& stop) const override;
};

}  // namespace quotient::extract
