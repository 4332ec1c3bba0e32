#pragma once

#include "core/extract/extract.h"

namespace quotient::extract {

// The greedy extraction of Hartmann, He, Yoneki, "Optimizing tensor computation graphs with
// equality saturation and Monte Carlo tree search" (PACT'24), for comparison: bottom-up as by tree
// cost, but each class remembers what its cost is made of, and of the largest part that two
// children have in common the second does not pay again. Passes over all classes until none gets
// cheaper. A part is subtracted once at most and in whatever order children come, so costs are
// neither tree nor DAG costs. Where its choices close a cycle, those by tree cost stay.
class HistoryExtractor : public Extractor {
 public:
  const char* name() const override { return "history"; }
  const char* optimal_for() const override { return "nothing"; }

 private:
  absl::StatusOr<Selection> Choose(const Problem& problem,
                                   const StopCondition& stop) const override;
};

}  // namespace quotient::extract
