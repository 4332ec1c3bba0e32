#include "tests/support/egraph/incremental_tree.h"

#include <algorithm>
#include <functional>

namespace quotient::testing {

void IncrementalTree::Update(EGraph& graph) {
  states_.resize(graph.class_bound());
  graph.changes().ForEachSince(seen_, [&](ENodeId node, egraph::ChangeLog::Position) {
    Consider(graph, node);
    return true;
  });
  graph.AcknowledgeChanges(/*keep=*/true);
  seen_ = graph.changes().begin();
  while (!queue_.empty()) {
    std::ranges::pop_heap(queue_, std::greater<>());
    const Entry entry = queue_.back();
    queue_.pop_back();
    const State& state = states_[entry.id.value()];
    const bool outdated = entry.key != std::min(state.label, state.least);
    if (!outdated && state.label != state.least) Settle(graph, entry.id);
  }
}

IncrementalTree::Label IncrementalTree::LabelOf(const EGraph& graph, ENodeId node) const {
  const double own = cost_.Cost(node);
  const bool usable = own >= 0 && own < std::numeric_limits<double>::infinity();
  if (!usable || !graph.live(node)) return {};
  Label label = {own, graph.origin(node) == egraph::kInputOrigin ? 0.0 : 1.0, 0, node};
  for (const ClassId child : graph.node(node).children) {
    const Label& below = states_[child.value()].label;
    if (!below.node.valid()) return {};
    label.cost += below.cost;
    label.rewritten += below.rewritten;
    label.depth = std::max(label.depth, below.depth + 1);
  }
  return label;
}

IncrementalTree::Label IncrementalTree::LeastOf(const EGraph& graph, ClassId id) const {
  Label least;
  graph.store().ForEachMember(id,
                              [&](ENodeId node) { least = std::min(least, LabelOf(graph, node)); });
  return least;
}

// Updates the class of an e-node that has changed, or whose children's labels have.
void IncrementalTree::Consider(const EGraph& graph, ENodeId node) {
  const ClassId id = graph.class_of(node);
  State& state = states_[id.value()];
  const Label label = LabelOf(graph, node);
  if (label == state.least) return;
  const ENodeId best = state.least.node;
  if (label < state.least) {
    state.least = label;
  } else if (best.valid() && (best == node || !graph.live(best))) {
    state.least = LeastOf(graph, id);
  } else {
    return;
  }
  Queue(id);
}

void IncrementalTree::Queue(ClassId id) {
  const State& state = states_[id.value()];
  if (state.least == state.label) return;
  queue_.push_back({std::min(state.least, state.label), id});
  std::ranges::push_heap(queue_, std::greater<>());
}

void IncrementalTree::Settle(const EGraph& graph, ClassId id) {
  State& state = states_[id.value()];
  log_.Save(id, {state.label, state.label});
  state.label = state.least < state.label ? state.least : Label();
  Queue(id);
  graph.store().ForEachUse(id, [&](ENodeId parent, uint32_t) { Consider(graph, parent); });
}

void IncrementalTree::Mark() {
  log_.Mark();
  marks_.push_back(seen_);
}

void IncrementalTree::Rollback(const EGraph& graph) {
  log_.Rollback(states_, graph.class_bound());
  seen_ = marks_.back();
  marks_.pop_back();
}

void IncrementalTree::Forget() {
  log_.Forget();
  marks_.pop_back();
}

}  // namespace quotient::testing
