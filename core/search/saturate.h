#pragma once

// Equality saturation: every rule everywhere, again and again, with a bound on what one rule may
// add per iteration.

#include "core/search/strategy.h"

namespace quotient::search {

class Saturate : public Strategy {
 public:
  const char* name() const override { return "saturate"; }
  absl::StatusOr<Outcome> Run(egraph::EGraph& graph, std::span<const egraph::Rule* const> rules,
                              const Limits& limits, const StopCondition& stop,
                              const IterationHook& hook) const override;
};

}  // namespace quotient::search
