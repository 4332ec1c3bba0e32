#pragma once

// Strategy: how the e-graph is grown.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/stop.h"
#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"

namespace quotient::search {

struct Limits {
  int64_t max_enodes = 50'000;  // within an iteration, too, but for the last match's own
  int64_t max_iterations = 1'000;
  int64_t max_matches_per_rule = 10'000;  // per iteration, before the scheduler bans the rule
};

struct Outcome {
  StopReason reason = StopReason::kNone;
  int64_t iterations = 0;
  // Matches that changed the graph.
  int64_t matches_applied = 0;
  std::vector<int64_t> applied_by_rule;  // parallel to the rules
};

// Called between iterations with the clean graph.
using IterationHook = std::function<void(const egraph::EGraph& graph, const Outcome& so_far)>;

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual const char* name() const = 0;
  // Grows a clean graph by the rules until `stop`, the limits or saturation; blocking; leaves it
  // clean. Deterministic unless stopped by time. Origins are index in `rules` + 1.
  virtual absl::StatusOr<Outcome> Run(egraph::EGraph& graph,
                                      std::span<const egraph::Rule* const> rules,
                                      const Limits& limits, const StopCondition& stop,
                                      const IterationHook& hook) const = 0;
};

// One row per strategy; today "saturate". Null for an unknown name.
const Strategy* FindStrategy(absl::string_view name);
std::vector<std::string> StrategyNames();

}  // namespace quotient::search
