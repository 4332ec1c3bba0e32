#pragma once

// The best different selections, for callers that can measure what costs only predict.

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "core/extract/extract.h"

namespace quotient::extract {

struct SeveralOptions {
  // Largest number of selections. 0 also gives one.
  size_t count = 3;
  // Selections may cost more than the cheapest by at most this share of its cost.
  double within = std::numeric_limits<double>::infinity();
  // If set, only the cheapest selection of each kind is returned. Many e-graphs have thousands of
  // equally cheap selections that need not be compared. The result may then be shorter than
  // possible, and a better selection may be missed.
  std::function<uint64_t(const Selection&)> kind;
};

// Selections of which no two are the same graph, cheapest first. They differ in what the roots
// need; choices of classes that are not needed make no difference.
//
// What is guaranteed depends on what `extractor` is optimal for. If that is "dag" (exact), these
// are the best selections, and there are fewer than `count` only if no more exist: Lawler's
// procedure partitions all selections but the best, and extracts from each part. If it is "nothing"
// (dag), these are the best ones found in each part, the first at least as cheap as the extractor's
// own answer. There may be better ones, but as many are found as exist.
//
// If `stop` fires, returns those known by then, at least one. NOT_FOUND as from an extractor.
// Deterministic unless stopped. Extracts once for each part that bounds do not rule out, with an
// exact extractor and no `kind` at most `count` times the number of classes in a selection;
// DESIGN.md gives measurements.
absl::StatusOr<std::vector<Selection>> ExtractSeveral(const Problem& problem,
                                                      const Extractor& extractor,
                                                      const SeveralOptions& options,
                                                      const StopCondition& stop);

}  // namespace quotient::extract
