#include "core/search/search_tree.h"

#include <algorithm>
#include <cmath>

namespace quotient::search {
namespace {

constexpr double kExploration = 1.0;
constexpr double kWidening = 2.0;
constexpr double kUniform = 0.25;  // share of the priors that all actions have alike
constexpr size_t kMaxDepth = 1000;
constexpr uint32_t kNone = 0xffffffffu;

}  // namespace

void SearchTree::Reset(const State& root) {
  nodes_.clear();
  node_of_state_.clear();
  best_cost_ = root.cost;
  root_ = MakeNode(root);
}

SearchTree::NodeId SearchTree::MakeNode(const State& state) {
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  if (state.hash != 0) {
    const auto [known, fresh] = node_of_state_.try_emplace(state.hash, id);
    if (!fresh) return known->second;
  }
  Node& node = nodes_.emplace_back();
  node.cost = node.best = state.cost;
  node.exhausted = state.actions.empty();
  node.untried = state.actions;
  best_cost_ = std::min(best_cost_, state.cost);
  return id;
}

double SearchTree::Quality(double cost) const {
  const double root = root_cost();
  return root > best_cost_ ? (root - cost) / (root - best_cost_) : 0;
}

// As many edges as its visits allow, the most promising ones by what is known now.
void SearchTree::Widen(Node& node) {
  const size_t wanted = static_cast<size_t>(std::ceil(kWidening * std::sqrt(node.visits + 1.0)));
  size_t open = 0;
  for (const Edge& edge : node.edges) open += !Finished(edge);
  for (; open < wanted && !node.untried.empty(); ++open) {
    size_t best = 0;
    for (size_t i = 1; i < node.untried.size(); ++i) {
      if (priors_.Expect(node.untried[i]) > priors_.Expect(node.untried[best])) best = i;
    }
    const Action action = node.untried[best];
    node.edges.push_back({action, static_cast<float>(priors_.Expect(action))});
    node.untried.erase(node.untried.begin() + best);
  }
}

// kNone if all that is left is under way.
uint32_t SearchTree::BestEdge(const Node& node) const {
  const double root_of_visits = std::sqrt(node.visits + 1.0);
  double sum = 0;
  size_t open = 0;
  for (const Edge& edge : node.edges) {
    if (Finished(edge)) continue;
    sum += edge.prior;
    ++open;
  }
  uint32_t best = kNone;
  double best_score = 0;
  for (uint32_t i = 0; i < node.edges.size(); ++i) {
    const Edge& edge = node.edges[i];
    // Somebody is there already, and will come to the same.
    if (Finished(edge) || (!edge.child.valid() && edge.under_way > 0)) continue;
    const double value = edge.child.valid() ? nodes_[edge.child.value()].best : node.cost;
    const double prior = (1 - kUniform) * edge.prior / sum + kUniform / open;
    const double score =
        Quality(value) + kExploration * prior * root_of_visits / (1 + edge.visits + edge.under_way);
    if (best == kNone || score > best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

bool SearchTree::Select(Leaf* leaf) {
  while (!exhausted()) {
    *leaf = {};
    NodeId at = root_;
    while (at.valid() && leaf->path.size() < kMaxDepth) {
      Node& node = nodes_[at.value()];
      Widen(node);
      const uint32_t chosen = BestEdge(node);
      if (chosen == kNone) break;
      leaf->nodes.push_back(at);
      leaf->edges.push_back(chosen);
      leaf->path.push_back(node.edges[chosen].action);
      at = node.edges[chosen].child;
    }
    if (!at.valid()) {
      Begin(*leaf);
      return true;
    }
    // What is below may have come to its end on the way of others.
    UpdateExhausted(nodes_[at.value()]);
    if (!nodes_[at.value()].exhausted) return false;
  }
  return false;
}

void SearchTree::Begin(const Leaf& leaf) {
  for (size_t i = 0; i < leaf.nodes.size(); ++i) {
    Node& node = nodes_[leaf.nodes[i].value()];
    ++node.visits;
    ++node.edges[leaf.edges[i]].under_way;
  }
}

void SearchTree::UpdateExhausted(Node& node) {
  const auto finished = [this](const Edge& edge) { return Finished(edge); };
  node.exhausted |= node.untried.empty() && std::ranges::all_of(node.edges, finished);
}

void SearchTree::Observe(const Leaf& leaf, const State& state) {
  const NodeId last = leaf.nodes.back();
  const double drop = nodes_[last.value()].cost - state.cost;
  if (root_cost() > 0) priors_.Learn(leaf.path.back(), drop / root_cost());
  const NodeId child = state.changed ? MakeNode(state) : last;
  Edge& tried = nodes_[last.value()].edges[leaf.edges.back()];
  tried.child = child;
  tried.nowhere = child == last;
  double best = nodes_[child.value()].best;
  for (size_t i = leaf.nodes.size(); i-- > 0;) {
    Node& node = nodes_[leaf.nodes[i].value()];
    Edge& edge = node.edges[leaf.edges[i]];
    ++edge.visits;
    --edge.under_way;
    UpdateExhausted(node);
    best = std::min(best, node.best);
    node.best = best;
  }
}

}  // namespace quotient::search
