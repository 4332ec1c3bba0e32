#pragma once

// The last selection, for callers that extract again after costs may have changed. A selection can
// take seconds, and costs often stay as they were.

#include <optional>

#include "absl/status/statusor.h"
#include "core/base/digest.h"
#include "core/base/stop.h"
#include "core/extract/extract.h"

namespace quotient::extract {

// A digest of the costs of all e-nodes and of what they share.
Digest CostsDigest(const Problem& problem);

// For problems that have the same e-graph and roots. One thread at a time.
class Remembered {
 public:
  // Returns what the last call returned if costs are the same, otherwise choose(). An answer that
  // `stop` may have cut short is not remembered.
  template <typename Choose>
  absl::StatusOr<Selection> Get(const Problem& problem, const StopCondition& stop,
                                const Choose& choose) {
    const Digest costs = CostsDigest(problem);
    if (selection_.has_value() && costs == costs_) return *selection_;
    absl::StatusOr<Selection> chosen = choose();
    if (!chosen.ok() || stop.ShouldStop()) return chosen;
    costs_ = costs;
    selection_ = *chosen;
    return chosen;
  }

 private:
  Digest costs_;
  std::optional<Selection> selection_;
};

}  // namespace quotient::extract
