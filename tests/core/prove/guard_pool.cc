#include "tests/core/prove/guard_pool.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/domain/tensor_egraph.h"
#include "core/prove/symbols.h"
#include "core/prove/variation.h"
#include "tests/core/prove/guard_graphs.h"

namespace quotient::prove {
namespace {

constexpr size_t kMostAccepted = 8;
constexpr size_t kMostRefused = 14;
constexpr int kMostTries = 300;

class CountingSink final : public egraph::MatchSink {
 public:
  bool Add(egraph::Match) override { return ++count_ < kMost; }
  int count() const { return count_; }

 private:
  static constexpr int kMost = 100;
  int count_ = 0;
};

// One or two changes, behind which another variation may follow.
std::optional<model::Graph> Changed(const model::Graph& graph, Rng& rng) {
  std::optional<model::Graph> changed = Provoked(graph, rng);
  if (changed && rng.Below(3) == 0) changed = Provoked(*changed, rng);
  if (changed && rng.Below(4) == 0) changed = Varied(*changed, rng);
  return changed;
}

}  // namespace

int CountMatches(const egraph::Rule& rule, const egraph::EGraph& graph) {
  CountingSink sink;
  rule.Search(graph, sink);
  return sink.count();
}

absl::StatusOr<int> MatchesIn(const RuleMaker& make_rule, const model::Graph& graph) {
  QUOTIENT_ASSIGN_OR_RETURN(const domain::TensorEGraph tensors, domain::FromGraph(graph, graph));
  QUOTIENT_ASSIGN_OR_RETURN(const auto rule, make_rule(tensors.domain.get()));
  QUOTIENT_RETURN_IF_ERROR(tensors.egraph->Rebuild());
  return CountMatches(*rule, *tensors.egraph);
}

absl::StatusOr<GuardPool> PoolOf(const RuleMaker& with, const RuleMaker& without,
                                 std::span<const model::Graph> graphs, Rng& rng) {
  GuardPool pool;
  const auto look_at = [&](const model::Graph& graph) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(const int unguarded, MatchesIn(without, graph));
    if (unguarded == 0) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const int guarded, MatchesIn(with, graph));
    const bool refuses = guarded < unguarded;
    std::vector<model::Graph>& kind = refuses ? pool.refused : pool.accepted;
    if (kind.size() < (refuses ? kMostRefused : kMostAccepted)) kind.push_back(graph);
    return absl::OkStatus();
  };
  std::vector<model::Graph> with_numbers;
  for (const model::Graph& graph : graphs) {
    if (!IsStatic(graph)) continue;
    with_numbers.push_back(graph);
    QUOTIENT_RETURN_IF_ERROR(look_at(graph));
  }
  // What differs little from a graph that the guard accepts tells most about it.
  const std::vector<model::Graph> accepted = pool.accepted;
  for (int i = 0; i < kMostTries && !with_numbers.empty(); ++i) {
    if (pool.refused.size() == kMostRefused && pool.accepted.size() == kMostAccepted) break;
    const bool any = accepted.empty() || rng.Below(4) == 0;
    const std::vector<model::Graph>& from = any ? with_numbers : accepted;
    const std::optional<model::Graph> changed = Changed(from[rng.Below(from.size())], rng);
    if (changed) QUOTIENT_RETURN_IF_ERROR(look_at(*changed));
  }
  return pool;
}

}  // namespace quotient::prove
