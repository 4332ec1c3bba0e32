#pragma once

#include "core/extract/extract.h"

namespace quotient::extract {

// Integer linear programming, starting from the answer of `dag`: optimal if it ends before `stop`
// fires, else the best selection found, with a bound. Takes seconds to minutes on e-graphs of
// thousands of e-nodes. Thread-safe, but only one runs at a time in a process; others wait
// (branch_and_cut.h). Deterministic unless stopped.
class IlpExtractor : public Extractor {
 public:
  const char* name() const override { return "ilp"; }
  const char* optimal_for() const override { return "dag"; }

 private:
  absl::StatusOr<Selection> Choose(const Problem& problem,
                                   const StopCondition& stop) const override;
};

}  // namespace quotient::extract
