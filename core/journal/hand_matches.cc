#include "core/journal/hand_matches.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/egraph/ranges.h"

namespace quotient::journal {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::Match;

// Whether a match has these classes.
bool IsAt(const Match& match, const EGraph& graph, uint32_t alternative,
          std::span<const ClassId> classes) {
  const auto is_same = [&graph](ClassId a, ClassId b) { return graph.Find(a) == graph.Find(b); };
  return match.alternative == alternative && std::ranges::equal(match.classes, classes, is_same);
}

// Takes the matches of one alternative that have these classes.
class TakeAt final : public egraph::MatchSink {
 public:
  TakeAt(const EGraph& graph, uint32_t alternative, std::span<const ClassId> classes)
      : graph_(graph), alternative_(alternative), classes_(classes) {}

  bool Add(Match match) override {
    if (!IsAt(match, graph_, alternative_, classes_)) return true;
    if (known_.insert(match.ops).second) matches.push_back(std::move(match));
    return true;
  }

  std::vector<Match> matches;

 private:
  const EGraph& graph_;
  const uint32_t alternative_;
  const std::span<const ClassId> classes_;
  absl::flat_hash_set<std::vector<egraph::OpId>> known_;
};

// Looks for one match.
class LookFor final : public egraph::MatchSink {
 public:
  LookFor(const EGraph& graph, const Match& wanted) : graph_(graph), wanted_(wanted) {}

  bool Add(Match match) override {
    found = match.ops == wanted_.ops && IsAt(match, graph_, wanted_.alternative, wanted_.classes);
    return !found;
  }

  bool found = false;

 private:
  const EGraph& graph_;
  const Match& wanted_;
};

// The e-nodes around which a rule may find a match with these classes, in order. By what
// Rule::SearchAt may look at, the match names the class of the anchor, of one of its operands, or
// of an e-node that reads it.
std::vector<ENodeId> AnchorsAround(const EGraph& graph, const egraph::Anchors& anchors,
                                   std::span<const ClassId> classes) {
  std::vector<ENodeId> around;
  const auto add = [&](ENodeId enode) {
    const bool is_anchor =
        anchors.of_any_kind ||
        std::ranges::find(anchors.kinds, graph.kind(enode)) != anchors.kinds.end();
    if (is_anchor && graph.live(enode)) around.push_back(enode);
  };
  absl::flat_hash_set<ClassId> taken;
  const auto add_class = [&](ClassId cls) {
    if (!taken.insert(cls).second) return;
    for (const ENodeId enode : graph.nodes(cls)) add(enode);
  };
  for (const ClassId id : classes) {
    const ClassId cls = graph.Find(id);
    add_class(cls);
    graph.store().ForEachUse(cls, [&](ENodeId reader, uint32_t /*position*/) { add(reader); });
    for (const ENodeId enode : graph.nodes(cls)) {
      for (const ClassId operand : graph.node(enode).children) add_class(graph.Find(operand));
    }
  }
  std::ranges::sort(around);
  around.erase(std::ranges::unique(around).begin(), around.end());
  return around;
}

}  // namespace

std::vector<Match> FindHandMatches(const egraph::Rule& rule, const EGraph& graph,
                                   uint32_t alternative, std::span<const ClassId> classes) {
  TakeAt sink(graph, alternative, classes);
  if (classes.empty()) return {};
  if (rule.anchors() == nullptr) {
    rule.Search(graph, sink);
  } else {
    const std::vector<ENodeId> anchors = AnchorsAround(graph, *rule.anchors(), classes);
    if (!anchors.empty()) rule.SearchForClasses(graph, anchors, classes, sink);
  }
  return std::move(sink.matches);
}

ENodeId FindAnchor(const egraph::Rule& rule, const EGraph& graph, const Match& match) {
  if (rule.anchors() == nullptr) return ENodeId();
  for (const ENodeId anchor : AnchorsAround(graph, *rule.anchors(), match.classes)) {
    LookFor sink(graph, match);
    rule.SearchForClasses(graph, std::span(&anchor, 1), match.classes, sink);
    if (sink.found) return anchor;
  }
  return ENodeId();
}

}  // namespace quotient::journal
