#pragma once

#include "core/extract/extract.h"

namespace quotient::extract {

// Optimal for tree cost, where every use of a class is paid for. O(n log n).
class TreeExtractor : public Extractor {
 public:
  const char* name() const override { return "tree"; }
  const char* optimal_for() const override { return "tree"; }

 private:
  absl::StatusOr<Selection> Choose(const Problem& problem,
                                   const StopCondition& stop) const override;
};

}  // namespace quotient::extract
