#include "core/rules/site_rule.h"

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

void SiteRule::Search(const EGraph& graph, egraph::MatchSink& sink) const {
  search_(View(*domain_, graph),
          [&sink](SiteMatch match) { return sink.Add(Pack(std::move(match))); });
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

void ForEachNode(const View& view, TensorDomain* domain, absl::string_view op,
                 const std::function<bool(ENodeId)>& visit) {
  for (const ENodeId enode : view.graph().nodes_of_kind(domain->KindOfName(op))) {
    if (!visit(enode)) return;
  }
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
