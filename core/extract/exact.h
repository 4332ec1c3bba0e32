#pragma once

#include "core/extract/extract.h"

namespace quotient::extract {

// Optimal if it ends before `stop` does it, else the best found with a bound. Block by block
// (blocks.h): from the answer of `dag`, e-nodes that no cheaper selection can have are taken out
// (dual_ascent.h), again and again; what is left, most often nothing or a few percent, goes to
// dynamic programming (treewidth.h) where it is narrow, else to branch and cut (branch_and_cut.h,
// which has the thread rule and proves to a relative 1e-7).
// Blocks that stay open have equal parts of the time. Costs that differ by less than 1e-9,
// relatively, are equal. Deterministic unless stopped.
class ExactExtractor : public Extractor {
 public:
  const char* name() const override { return "exact"; }
  const char* optimal_for() const override { return "dag"; }

 private:
  absl::StatusOr<Selection> Choose(const Problem& problem,
                                   const StopCondition& stop) const override;
};

}  // namespace quotient::extract
