#include "core/rules/site_rule.h"

#include <algorithm>
#include <utility>

#include "core/base/status_macros.h"

namespace quotient::rules {

namespace {

// egraph::Match has no numbers, so they are appended to the operator words, followed by their
// count.
egraph::Match Pack(SiteMatch match) {
  for (const int64_t number : match.numbers) {
    match.ops.push_back(OpId(static_cast<uint32_t>(number)));
  }
  match.ops.push_back(OpId(static_cast<uint32_t>(match.numbers.size())));
  return {std::move(match.classes), std::move(match.ops)};
}

SiteMatch Unpack(const egraph::Match& packed) {
  SiteMatch match{packed.classes, packed.ops, {}};
  const size_t count = match.ops.back().value();
  match.ops.pop_back();
  const size_t first = match.ops.size() - count;
  for (size_t i = first; i < match.ops.size(); ++i) match.numbers.push_back(match.ops[i].value());
  match.ops.resize(first);
  return match;
}

}  // namespace

SiteRule::SiteRule(TensorDomain* domain, std::string name, std::string equation,
                   std::span<const absl::string_view> anchors, SearchFn search, BuildFn build,
                   ForClassesFn for_classes)
    : domain_(domain),
      name_(std::move(name)),
      equation_(std::move(equation)),
      search_(std::move(search)),
      build_(std::move(build)),
      for_classes_(std::move(for_classes)) {
  anchors_.of_any_kind = anchors.empty();
  for (const absl::string_view op : anchors) anchors_.kinds.push_back(domain->KindOfName(op));
}

size_t SiteRule::NumWords(const egraph::Match& match) const {
  return match.ops.size() - 1 - match.ops.back().value();
}

void SiteRule::Search(const EGraph& graph, egraph::MatchSink& sink) const {
  std::vector<ENodeId> all;
  if (anchors_.of_any_kind) {
    for (const ClassId cls : graph.classes()) {
      for (const ENodeId enode : graph.nodes(cls)) all.push_back(enode);
    }
  }
  for (const egraph::KindId kind : anchors_.kinds) {
    for (const ENodeId enode : graph.nodes_of_kind(kind)) all.push_back(enode);
  }
  if (!all.empty()) SearchAt(graph, all, sink);
}

void SiteRule::SearchAt(const EGraph& graph, std::span<const ENodeId> anchors,
                        egraph::MatchSink& sink) const {
  search_(View(*domain_, graph), anchors,
          [&sink](SiteMatch match) { return sink.Add(Pack(std::move(match))); });
}

void SiteRule::SearchForClasses(const EGraph& graph, std::span<const ENodeId> anchors,
                                std::span<const ClassId> classes, egraph::MatchSink& sink) const {
  if (for_classes_ == nullptr) return SearchAt(graph, anchors, sink);
  const bool is_whole =
      for_classes_(View(*domain_, graph), anchors, classes,
                   [&sink](SiteMatch match) { return sink.Add(Pack(std::move(match))); });
  if (!is_whole) sink.NoteCut();
}

absl::StatusOr<bool> SiteRule::Apply(EGraph& graph, const egraph::Match& match,
                                     egraph::Origin origin) const {
  Terms terms(*domain_, graph, origin);
  const uint32_t nodes_before = graph.enode_bound();
  bool changed = false;
  for (const Equation& equation : build_(terms, Unpack(match))) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool united, terms.Unite(equation.left, equation.right));
    changed |= united;
  }
  return changed || graph.enode_bound() != nodes_before;
}

std::set<ClassId> FirstOperands(const View& view, std::span<const ENodeId> enodes) {
  std::set<ClassId> operands;
  for (const ENodeId enode : enodes) operands.insert(view.graph().node(enode).children[0]);
  return operands;
}

std::vector<ENodeId> ReadersOfFirst(const View& view, ClassId cls, egraph::KindId kind) {
  const EGraph& graph = view.graph();
  std::vector<ENodeId> readers;
  graph.store().ForEachUse(graph.Find(cls), [&](ENodeId enode, uint32_t position) {
    if (position == 0 && graph.live(enode) && graph.kind(enode) == kind) readers.push_back(enode);
  });
  std::ranges::sort(readers);
  return readers;
}

void ForEachNarrowParent(const View& view, ClassId cls, const std::function<bool(ENodeId)>& visit) {
  const EGraph& graph = view.graph();
  const ClassId id = graph.Find(cls);
  const egraph::NodeStore& store = graph.store();
  for (egraph::UseId use = store.class_row(id).first_use; use.valid(); use = store.NextUse(use)) {
    const ENodeId enode = store.NodeOf(use);
    if (!graph.live(enode) || store.row(enode).listed()) continue;
    const bool seen = store.PositionOf(use) == 1 && graph.node(enode).children[0] == id;
    if (!seen && !visit(enode)) return;
  }
}

}  // namespace quotient::rules
