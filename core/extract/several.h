#pragma once

// The best different selections, for whoever can measure what costs only predict.

#include <vector>

#include "core/extract/extract.h"

namespace quotient::extract {

// At most `count` selections, >= 1, that differ in what they choose, cheapest first: the answer of
// `dag`, and the cheapest that lead from there by changing one choice after the other. Fewer where
// there are not so many or `stop` says so, at least one. NOT_FOUND as from an extractor.
absl::StatusOr<std::vector<Selection>> ExtractSeveral(const Problem& problem, size_t count,
                                                      const StopCondition& stop);

}  // namespace quotient::extract
