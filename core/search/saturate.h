#pragma once

// Equality saturation: applies every rule everywhere, iteration by iteration, with a bound on what
// one rule may add per iteration.

#include "core/search/rewriter.h"
#include "core/search/strategy.h"

namespace quotient::search {

// Runs until a limit, `stop`, or saturation, when no rule has a match left. Bans of rules end with
// the call.
absl::StatusOr<Outcome> Saturate(Rewriter& rewriter, const Limits& limits,
                                 const StopCondition& stop, const ProgressHook& hook);

class SaturateStrategy : public Strategy {
 public:
  const char* name() const override { return "saturate"; }
  absl::StatusOr<Outcome> Run(Workspace& workspace, const Task& task) const override;
};

}  // namespace quotient::search
