#pragma once

#include "core/extract/extract.h"

namespace quotient::extract {

// An exact solver: optimal if it ends before `stop` fires, else the best selection found, with a
// bound. It works block by block (blocks.h), starting from the answer of `dag`. Rounds of dual
// ascent (dual_ascent.h) remove the e-nodes that no cheaper selection can contain. What is left,
// usually nothing or a few percent, goes to dynamic programming (treewidth.h) if it is narrow, else
// to branch and cut (branch_and_cut.h, which has the thread rule and proves to a relative 1e-7).
// Blocks that stay open get equal parts of the time. Costs that differ by less than a relative 1e-9
// count as equal. Deterministic unless stopped.
class ExactExtractor : public Extractor {
 public:
  const char* name() const override { return "exact"; }
  const char* optimal_for() const override { return "dag"; }

 private:
  absl::StatusOr<Selection> Choose(const Problem& problem,
                                   const StopCondition& stop) const override;
};

}  // namespace quotient::extract
