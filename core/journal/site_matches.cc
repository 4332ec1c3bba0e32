#include "core/journal/site_matches.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/egraph/ranges.h"
#include "core/rules/site_rule.h"

namespace quotient::journal {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::Match;

// One search is around e-nodes that have about so many operands together, so that the budget is
// asked between searches.
constexpr int64_t kStepsOfSearch = 1 << 14;

// Whether a match has these classes.
bool IsAt(const Match& match, const EGraph& graph, uint32_t alternative,
          std::span<const ClassId> classes) {
  const auto is_same = [&graph](ClassId a, ClassId b) { return graph.Find(a) == graph.Find(b); };
  return match.alternative == alternative && std::ranges::equal(match.classes, classes, is_same);
}

// Takes the matches of one alternative that have these classes.
class MatchesAtClasses final : public egraph::MatchSink {
 public:
  MatchesAtClasses(const EGraph& graph, uint32_t alternative, std::span<const ClassId> classes,
                   StepBudget* budget)
      : graph_(graph), alternative_(alternative), classes_(classes), budget_(*budget) {}

  bool Add(Match match) override {
    budget_.Take(static_cast<int64_t>(match.classes.size()));
    if (IsAt(match, graph_, alternative_, classes_) && known_.insert(match.ops).second) {
      matches.push_back(std::move(match));
    }
    return !budget_.IsOver();
  }
  void NoteCut() override { budget_.NoteCut(); }

  std::vector<Match> matches;

 private:
  const EGraph& graph_;
  const uint32_t alternative_;
  const std::span<const ClassId> classes_;
  StepBudget& budget_;
  absl::flat_hash_set<std::vector<egraph::OpId>> known_;
};

// Looks for one match.
class IsFound final : public egraph::MatchSink {
 public:
  IsFound(const EGraph& graph, const Match& wanted, StepBudget* budget)
      : graph_(graph), wanted_(wanted), budget_(*budget) {}

  bool Add(Match match) override {
    budget_.Take(static_cast<int64_t>(match.classes.size()));
    found = match.ops == wanted_.ops && IsAt(match, graph_, wanted_.alternative, wanted_.classes);
    return !found && !budget_.IsOver();
  }
  void NoteCut() override { budget_.NoteCut(); }

  bool found = false;

 private:
  const EGraph& graph_;
  const Match& wanted_;
  StepBudget& budget_;
};

// The e-nodes around which a rule may find a match with these classes, in order. By what
// Rule::SearchAt may look at, the match names the class of the anchor, of one of its operands, or
// of an e-node that reads it.
std::vector<ENodeId> AnchorsAround(const EGraph& graph, const egraph::Anchors& anchors,
                                   std::span<const ClassId> classes, StepBudget* budget) {
  std::vector<ENodeId> around;
  const auto add = [&](ENodeId enode) {
    budget->Take(1);
    const bool is_anchor =
        anchors.of_any_kind ||
        std::ranges::find(anchors.kinds, graph.kind(enode)) != anchors.kinds.end();
    if (is_anchor && graph.live(enode)) around.push_back(enode);
  };
  absl::flat_hash_set<ClassId> added, visited;
  const auto add_class = [&](ClassId cls) {
    if (!added.insert(cls).second) return;
    for (const ENodeId enode : graph.nodes(cls)) add(enode);
  };
  for (const ClassId id : classes) {
    const ClassId cls = graph.Find(id);
    // A match may name one class many times.
    if (!visited.insert(cls).second) continue;
    if (budget->IsOver()) return {};
    add_class(cls);
    graph.store().ForEachUse(cls, [&](ENodeId reader, uint32_t /*position*/) { add(reader); });
    for (const ENodeId enode : graph.nodes(cls)) {
      for (const ClassId operand : graph.node(enode).children) add_class(graph.Find(operand));
    }
  }
  std::ranges::sort(around);
  around.erase(std::unique(around.begin(), around.end()), around.end());
  return around;
}

// Searches the rule around these e-nodes. Counts what that looks at.
void SearchAround(const egraph::Rule& rule, const EGraph& graph, std::span<const ENodeId> anchors,
                  std::span<const ClassId> classes, StepBudget* budget, egraph::MatchSink& sink) {
  budget->Take(static_cast<int64_t>(anchors.size()));
  for (const ENodeId anchor : anchors) {
    budget->Take(static_cast<int64_t>(graph.node(anchor).children.size()));
  }
  rule.SearchForClasses(graph, anchors, classes, sink);
}

// Takes the e-nodes of the next search from the front of `anchors`: at first one, and each time
// twice as many. Rules that group e-nodes look at a whole group for any of them, so that searches
// around one after the other would take quadratic time.
class Portions {
 public:
  explicit Portions(const EGraph& graph) : graph_(graph) {}

  std::span<const ENodeId> Next(std::span<const ENodeId>* anchors) {
    const size_t most = std::min(size_, anchors->size());
    size_ *= 2;
    size_t count = 0;
    int64_t steps = 0;
    while (count < most && steps < kStepsOfSearch) {
      steps += 1 + static_cast<int64_t>(graph_.node((*anchors)[count++]).children.size());
    }
    const std::span<const ENodeId> portion = anchors->first(count);
    *anchors = anchors->subspan(count);
    return portion;
  }

 private:
  const EGraph& graph_;
  size_t size_ = 1;
};

}  // namespace

std::vector<Match> FindSiteMatches(const egraph::Rule& rule, const EGraph& graph,
                                   uint32_t alternative, std::span<const ClassId> classes,
                                   StepBudget* budget) {
  if (classes.empty()) return {};
  MatchesAtClasses sink(graph, alternative, classes, budget);
  if (rule.anchors() == nullptr) {
    budget->Take(graph.enode_bound());
    rule.Search(graph, sink);
    return std::move(sink.matches);
  }
  const std::vector<ENodeId> anchors = AnchorsAround(graph, *rule.anchors(), classes, budget);
  std::span<const ENodeId> left = anchors;
  Portions portions(graph);
  while (!left.empty() && !budget->IsOver()) {
    SearchAround(rule, graph, portions.Next(&left), classes, budget, sink);
  }
  return std::move(sink.matches);
}

ENodeId FindAnchor(const egraph::Rule& rule, const EGraph& graph, const Match& match,
                   StepBudget* budget) {
  if (rule.anchors() == nullptr) return ENodeId();
  const auto is_found = [&](std::span<const ENodeId> anchors) {
    IsFound sink(graph, match, budget);
    SearchAround(rule, graph, anchors, match.classes, budget, sink);
    return sink.found;
  };
  const std::vector<ENodeId> anchors = AnchorsAround(graph, *rule.anchors(), match.classes, budget);
  std::span<const ENodeId> left = anchors;
  Portions portions(graph);
  while (!left.empty() && !budget->IsOver()) {
    std::span<const ENodeId> portion = portions.Next(&left);
    if (!is_found(portion)) continue;
    while (portion.size() > 1 && !budget->IsOver()) {
      const std::span<const ENodeId> half = portion.first(portion.size() / 2);
      portion = is_found(half) ? half : portion.subspan(half.size());
    }
    return budget->IsOver() ? ENodeId() : portion.front();
  }
  return ENodeId();
}

}  // namespace quotient::journal
