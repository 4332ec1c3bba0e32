#include "core/optimize/rule_at_node.h"

#include <algorithm>
#include <utility>

#include "core/egraph/pattern_program.h"
#include "core/egraph/ranges.h"
#include "core/optimize/class_set.h"
#include "core/optimize/on_trial.h"

namespace quotient::optimize {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::Match;

// Of a site rule, how many matches are looked at.
constexpr size_t kMostOfSiteRule = 2000;

// Applications of rules that are compared between two looks at the time.
constexpr int64_t kBetweenChecks = 1024;

class Collector final : public egraph::MatchSink {
 public:
  explicit Collector(const StopCondition& stop) : stop_(stop) {}
  bool Add(Match match) override {
    matches.push_back(std::move(match));
    is_cut_short = matches.size() == kMostOfSiteRule || stop_.ShouldStop();
    return !is_cut_short;
  }
  std::vector<Match> matches;
  bool is_cut_short = false;

 private:
  const StopCondition& stop_;
};

RuleAtNode LookAroundPatterns(std::span<const egraph::Program* const> programs, const EGraph& graph,
                              std::span<const ClassId> classes, const StopCondition& stop) {
  std::vector<egraph::ENodeId> enodes;
  for (const ClassId cls : classes) {
    for (const egraph::ENodeId node : graph.nodes(graph.Find(cls))) enodes.push_back(node);
  }
  RuleAtNode result;
  for (uint32_t i = 0; i < programs.size(); ++i) {
    egraph::NearMatches near = egraph::FindNearMatches(*programs[i], graph, enodes, stop);
    const size_t num_roots = programs[i]->search.root_registers.size();
    for (Match& match : near.matches) {
      match.alternative = i;
      result.roots.insert(result.roots.end(), match.classes.begin(),
                          match.classes.begin() + static_cast<long>(num_roots));
      result.matches.push_back(std::move(match));
    }
    result.cut_short |= near.cut_short;
    if (!near.nearest.has_value()) continue;
    if (!result.nearest.has_value() || egraph::IsNearer(*near.nearest, *result.nearest)) {
      result.nearest = std::move(near.nearest);
    }
  }
  if (!result.matches.empty()) result.nearest.reset();
  return result;
}

// The classes of the graph that applying the match makes equal to others.
std::vector<ClassId> RootsOf(const egraph::Rule& rule, const Match& match, EGraph& graph) {
  const size_t unions_before = graph.proofs()->unions().size();
  const uint32_t classes_before = graph.class_bound();
  std::vector<ClassId> roots;
  OnTrial(graph, [&] {
    if (!rule.Apply(graph, match, /*origin=*/1).ok()) return;
    for (const egraph::UnionRecord& record : graph.proofs()->unions().subspan(unions_before)) {
      for (const ClassId side : {record.a, record.b}) {
        if (side.value() < classes_before) roots.push_back(side);
      }
    }
  });
  return roots;
}

RuleAtNode LookAroundByHand(const egraph::Rule& rule, EGraph& graph,
                            std::span<const ClassId> classes, const StopCondition& stop) {
  Collector all(stop);
  rule.Search(graph, all);
  RuleAtNode result;
  result.cut_short = all.is_cut_short;
  const ClassSet of_node(graph, classes);
  const auto is_of_node = [&](ClassId id) { return of_node.contains(id); };
  for (Match& match : all.matches) {
    if (stop.ShouldStop()) {
      result.cut_short = true;
      break;
    }
    const std::vector<ClassId> roots = RootsOf(rule, match, graph);
    if (std::ranges::none_of(match.classes, is_of_node) &&
        std::ranges::none_of(roots, is_of_node)) {
      continue;
    }
    result.roots.insert(result.roots.end(), roots.begin(), roots.end());
    result.matches.push_back(std::move(match));
  }
  return result;
}

}  // namespace

RuleAtNode LookAround(const egraph::Rule& rule, const domain::TensorEGraph& tensors,
                      std::span<const ClassId> classes, const StopCondition& stop) {
  const std::vector<const egraph::Program*> programs = rule.programs();
  if (programs.empty()) return LookAroundByHand(rule, *tensors.egraph, classes, stop);
  return LookAroundPatterns(programs, *tensors.egraph, classes, stop);
}

bool WasApplied(const egraph::Rule& rule, egraph::Origin origin, const EGraph& graph,
                std::span<const Match> matches, std::span<const ClassId> roots,
                const StopCondition& stop) {
  if (rule.programs().empty()) {
    const ClassSet all(graph, roots);
    return std::ranges::any_of(graph.proofs()->unions(), [&](const egraph::UnionRecord& record) {
      return record.origin == origin && all.contains(record.a);
    });
  }
  const auto is_applied_by = [&](const Match& match, const egraph::ProofLog::Application& by) {
    if (match.classes.size() != by.classes.size() || match.ops.size() != by.ops.size())
      return false;
    for (size_t i = 0; i < by.classes.size(); ++i) {
      if (graph.Find(match.classes[i]) != graph.Find(ClassId(by.classes[i]))) return false;
    }
    for (size_t i = 0; i < by.ops.size(); ++i) {
      if (match.ops[i].value() != by.ops[i]) return false;
    }
    return true;
  };
  bool was = false;
  bool is_time_up = false;
  int64_t compared = 0;
  graph.proofs()->ForEachApplication([&](const egraph::ProofLog::Application& by) {
    if (was || is_time_up || by.origin != origin) return;
    if (compared++ % kBetweenChecks == 0) is_time_up = stop.ShouldStop();
    was =
        std::ranges::any_of(matches, [&](const Match& match) { return is_applied_by(match, by); });
  });
  return was;
}

}  // namespace quotient::optimize
