#pragma once

#include "core/base/stop.h"
#include "core/extract/choice.h"
#include "core/extract/extract.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// The best choice that local search finds, block by block (blocks.h) and from several starts;
// `known` if that is better.
Choice Improve(const Instance& instance, Choice known, const StopCondition& stop);

// Local search on the cost where each class is paid for once, from several starts, with single and
// compound changes (local_search.h). Finds optima in practice but promises none. Deterministic
// unless stopped.
class DagExtractor : public Extractor {
 public:
  const char* name() const override { return "dag"; }
  const char* optimal_for() const override { return "nothing"; }

 private:
  absl::StatusOr<Selection> Choose(const Problem& problem,
                                   const StopCondition& stop) const override;
};

}  // namespace quotient::extract
