#include "core/prove/near_misses.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/counted.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/base/stop.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/near_match.h"
#include "core/egraph/pattern_text.h"
#include "core/prove/symbols.h"

namespace quotient::prove {
namespace {

using egraph::NearMatch;

constexpr int kMostGraphs = 60;

std::vector<egraph::ENodeId> AllENodes(const egraph::EGraph& graph) {
  std::vector<egraph::ENodeId> all;
  for (const egraph::ClassId cls : graph.classes()) {
    for (const egraph::ENodeId enode : graph.nodes(cls)) all.push_back(enode);
  }
  return all;
}

// "found Add and Mul, but not Neg(?z) where the rule has it"
std::string MissingText(const NearMatch& near) {
  std::vector<std::string> found;
  for (const NearMatch::Found& each : near.found) found.push_back(each.term->name);
  const std::string wanted = ToText(*near.missing->term);
  const std::string seen =
      found.empty() ? "" : absl::StrCat("found ", absl::StrJoin(found, " and "), ", but ");
  if (near.missing->step.code == egraph::Instruction::Code::kSameClass) {
    return absl::StrCat(seen, wanted, " is not one value in both places");
  }
  return absl::StrCat(seen, "not ", wanted, " where the rule has it");
}

// Collects the near misses of one rule, graph by graph.
class NearMisses {
 public:
  absl::Status Add(const RuleMaker& make_rule, const model::Graph& graph,
                   const model::Graph& bound) {
    QUOTIENT_ASSIGN_OR_RETURN(domain::TensorEGraph tensors, domain::FromGraph(graph, bound));
    QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<const egraph::Rule> rule,
                              make_rule(tensors.domain.get()));
    QUOTIENT_RETURN_IF_ERROR(tensors.egraph->Rebuild());
    ++graphs_;
    is_pattern_ = !rule->programs().empty();
    const std::vector<egraph::ENodeId> enodes = AllENodes(*tensors.egraph);
    std::optional<NearMatch> nearest;
    for (const egraph::Program* const program : rule->programs()) {
      std::optional<NearMatch> near =
          FindNearMatches(*program, *tensors.egraph, enodes, StopCondition()).nearest;
      if (near && (!nearest || IsNearer(*near, *nearest))) nearest = std::move(near);
    }
    if (nearest) Note(*nearest);
    return absl::OkStatus();
  }

  std::string Text() const {
    if (graphs_ == 0) return "there was no graph to try it in";
    const std::string searched = absl::StrCat(" (", graphs_, " searched)");
    if (!is_pattern_) return absl::StrCat("it has no match in the graphs", searched);
    if (refused_.empty()) {
      return absl::StrCat("its left side is in none of the graphs", searched,
                          missing_.empty() ? "" : absl::StrCat(": ", missing_));
    }
    const std::string guards =
        absl::StrJoin(refused_, ", ", [](std::string* out, const auto& guard) {
          absl::StrAppend(out, guard.first, " in ", guard.second);
        });
    return absl::StrCat("guards refuse its left side in ", Counted(whole_, "graph"), searched, ": ",
                        guards);
  }

 private:
  void Note(const NearMatch& near) {
    if (near.missing.has_value()) {
      if (!furthest_ || near.found.size() > *furthest_) {
        furthest_ = near.found.size();
        missing_ = MissingText(near);
      }
      return;
    }
    ++whole_;
    std::set<std::string> guards;
    for (const egraph::RefusedGuard& refused : near.refused) {
      guards.insert(ToText(near.program->text->guards[refused.guard]));
    }
    for (const std::string& guard : guards) ++refused_[guard];
  }

  int graphs_ = 0;                      // Graphs that were searched.
  bool is_pattern_ = true;              // False for a site rule, of which nothing else is known.
  int whole_ = 0;                       // Graphs in which only guards refuse.
  std::map<std::string, int> refused_;  // By guard: the graphs in which it refuses.
  std::optional<size_t> furthest_;      // How many terms were found where most were.
  std::string missing_;                 // What is missing there.
};

}  // namespace

absl::StatusOr<std::string> WhyNoMatch(const RuleMaker& make_rule,
                                       std::span<const model::Graph> graphs) {
  NearMisses misses;
  Rng rng(0);
  for (const model::Graph& graph : graphs.first(std::min<size_t>(graphs.size(), kMostGraphs))) {
    if (IsStatic(graph)) {
      QUOTIENT_RETURN_IF_ERROR(misses.Add(make_rule, graph, graph));
    } else if (const auto symbolic = InSeveralSizes(graph, rng)) {
      QUOTIENT_RETURN_IF_ERROR(misses.Add(make_rule, symbolic->graph, symbolic->bound[0]));
    }
  }
  return misses.Text();
}

}  // namespace quotient::prove
