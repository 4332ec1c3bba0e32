#pragma once

// Equality saturation: every rule everywhere, again and again, with a bound on what one rule may
// add per iteration.

#include "core/search/rewriter.h"
#include "core/search/strategy.h"

namespace quotient::search {

// Until the limits, `stop` or saturation: then no rule has anything left to do. Bans of rules do
// not outlast it.
absl::StatusOr<Outcome> Saturate(Rewriter& rewriter, const Limits& limits,
                                 const StopCondition& stop, const ProgressHook& hook);

class SaturateStrategy : public Strategy {
 public:
  const char* name() const override { return "saturate"; }
  absl::StatusOr<Outcome> Run(Workspace& workspace, const Task& task) const override;
};

}  // namespace quotient::search
