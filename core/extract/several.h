#pragma once

// The best different selections, for whoever can measure what costs only predict.

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "core/extract/extract.h"

namespace quotient::extract {

struct SeveralOptions {
  size_t count = 3;  // at most so many; of 0 there is one, too
  // None that costs more than the cheapest by more than this share of its cost.
  double within = std::numeric_limits<double>::infinity();
  // Of those for which it says the same, the cheapest counts, in place of all that differ in
  // anything: many an e-graph has thousands of equally cheap selections that nobody needs to
  // compare. Then there may be more than are found, and better ones.
  std::function<uint64_t(const Selection&)> kind;
};

// Selections no two of which are the same graph, cheapest first. They differ in what the roots
// need; what nothing needs makes no difference.
//
// What is promised follows from what `extractor` is optimal for. If it is "dag" (exact), these are
// the best that there are, and they are fewer than `count` only where there are not so many:
// Lawler's partition of all selections but the best, each part extracted from. If it is "nothing"
// (dag), they are what it found in each part, the first at least as cheap as its answer; there may
// be better ones, and all the same they are as many as there are.
//
// `stop` ends it early with those known by then, at least one. NOT_FOUND as from an extractor.
// Deterministic unless stopped. Extracts as often as bounds leave parts of interest, at most
// `count` times the number of classes in a selection; DESIGN.md says how often that is.
absl::StatusOr<std::vector<Selection>> ExtractSeveral(const Problem& problem,
                                                      const Extractor& extractor,
                                                      const SeveralOptions& options,
                                                      const StopCondition& stop);

}  // namespace quotient::extract
