#pragma once

#include "core/base/stop.h"
#include "core/extract/block_memory.h"
#include "core/extract/extract.h"

namespace quotient::extract {

// Local search on the cost where each class is paid for once, block by block (blockwise.h), from
// several starts (improve.h), with single and compound changes (local_search.h). Finds optima in
// practice but promises none. Deterministic unless stopped.
class DagExtractor : public Extractor {
 public:
  const char* name() const override { return "dag"; }
  const char* optimal_for() const override { return "nothing"; }

 private:
  absl::StatusOr<Selection> Choose(const Problem& problem,
                                   const StopCondition& stop) const override;
  absl::StatusOr<Selection> ChooseAgain(const Problem& problem, BlockMemory& memory,
                                        const StopCondition& stop) const override;
};

}  // namespace quotient::extract
