#include "tests/core/prove/rule_graphs.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/domain/tensor_egraph.h"
#include "core/prove/symbols.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/core/rules/soundness.h"

namespace quotient::prove {
namespace {

constexpr size_t kMostOfCases = 20;
constexpr size_t kMostDrawn = 20;
constexpr int kMostDraws = 6000;

absl::StatusOr<bool> HasMatch(const RuleMaker& make_rule, const model::Graph& graph,
                              const model::Graph& bound) {
  QUOTIENT_ASSIGN_OR_RETURN(const domain::TensorEGraph tensors, domain::FromGraph(graph, bound));
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<const egraph::Rule> rule,
                            make_rule(tensors.domain.get()));
  QUOTIENT_RETURN_IF_ERROR(tensors.egraph->Rebuild());
  return !rules::MatchesOf(tensors, *rule).empty();
}

}  // namespace

RuleGraphs::RuleGraphs() {
  Rng rng(0);
  std::vector<model::Graph> graphs;
  for (const rules::RuleCase& each : rules::RuleCases()) {
    for (const std::string& text : {each.fires, each.refused}) {
      graphs.push_back(rules::ParseStatic(text));
      const model::Graph& graph = graphs.back();
      if (IsStatic(graph)) {
        cases_.push_back({graph, graph});
      } else if (auto symbolic = InSeveralSizes(graph, rng)) {
        cases_.push_back({graph, std::move(symbolic->bound[0])});
      }
    }
  }
  choices_ = AttributesIn(graphs);
}

absl::StatusOr<std::vector<model::Graph>> RuleGraphs::Of(const FileRule& rule,
                                                         uint64_t seed) const {
  const RuleMaker maker = MakerOf(rule);
  Rng rng(seed);
  std::vector<model::Graph> matched;
  std::vector<model::Graph> others;
  size_t drawn = 0;
  for (int i = 0; i < kMostDraws && drawn < kMostDrawn; ++i) {
    const egraph::RuleText& left = rule.alternatives[i % rule.alternatives.size()];
    std::optional<model::Graph> graph = DrawLeft(left, choices_, rng);
    if (!graph) continue;
    QUOTIENT_ASSIGN_OR_RETURN(const bool has_match, HasMatch(maker, *graph, *graph));
    drawn += has_match ? 1 : 0;
    if (has_match || others.size() < kMostDrawn) {
      (has_match ? matched : others).push_back(*std::move(graph));
    }
  }
  for (const CaseGraph& each : cases_) {
    if (matched.size() - drawn == kMostOfCases) break;
    QUOTIENT_ASSIGN_OR_RETURN(const bool has_match, HasMatch(maker, each.graph, each.bound));
    if (has_match) matched.push_back(each.graph);
  }
  return matched.empty() ? others : matched;
}

}  // namespace quotient::prove
