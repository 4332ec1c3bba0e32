#include "tests/support/egraph/apply_all.h"

#include <algorithm>

namespace quotient::testing {

using egraph::RightProgram;

absl::Status ApplyAll(egraph::Matcher& matcher, size_t num_rules, egraph::EGraph& graph,
                      absl::FunctionRef<bool()> may_go_on) {
  size_t all = 0;
  for (size_t rule = 0; rule < num_rules; ++rule) all += matcher.num_waiting(rule);
  graph.ExpectNodes(all);
  for (size_t rule = 0; rule < num_rules; ++rule) {
    while (const size_t waiting = matcher.num_waiting(rule)) {
      if (!may_go_on()) return absl::OkStatus();
      const size_t batch = std::min(waiting, RightProgram::kMaxBatch);
      const absl::StatusOr<int64_t> changed = matcher.ApplyNext(graph, rule, batch);
      if (!changed.ok()) return changed.status();
    }
  }
  return absl::OkStatus();
}

}  // namespace quotient::testing
