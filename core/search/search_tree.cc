#include "core/search/search_tree.h"

#include <algorithm>
#include <cmath>

namespace quotient::search {
namespace {

constexpr double kExploration = 1.0;
constexpr double kWidening = 0.5;  // batches of edges per root of visits
constexpr size_t kBatch = 8;
constexpr size_t kMaxDepth = 1000;
constexpr uint32_t kNone = 0xffffffffu;

}  // namespace

void SearchTree::Reset(const State& root) {
  nodes_.clear();
  node_of_state_.clear();
  busy_.clear();
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

bool SearchTree::MayWiden(const Node& node) const {
  return !node.untried.empty() && node.batches < kWidening * std::sqrt(node.visits + 1.0);
}

// The most promising ones by what is known now.
void SearchTree::Widen(Node& node, Leaf& leaf) {
  leaf.first_edge = static_cast<uint32_t>(node.edges.size());
  ++node.batches;
  // Growing takes long: not at nodes that nobody has come back to.
  const bool may_grow = node.batches > 1 || &node == &nodes_[root_.value()];
  while (leaf.tries.size() < kBatch && !node.untried.empty()) {
    const auto expect = [&](Action action) {
      return action.kind == Action::Kind::kGrow && !may_grow ? -1.0 : priors_.Expect(action);
    };
    const auto best = std::ranges::max_element(node.untried, {}, expect);
    if (expect(*best) < 0 && !leaf.tries.empty()) break;
    leaf.tries.push_back(*best);
    const float prior = static_cast<float>(priors_.Expect(*best));
    node.edges.push_back({.action = *best, .prior = prior, .under_way = 1});
    node.untried.erase(best);
  }
}

// Of those that lead to where something can be tried; kNone if there is none.
uint32_t SearchTree::BestEdge(const Node& node) const {
  const auto leads_on = [this](const Edge& edge) {
    return edge.child.valid() && !Finished(edge) && !nodes_[edge.child.value()].busy;
  };
  double sum = 0;
  for (const Edge& edge : node.edges) {
    if (leads_on(edge)) sum += edge.prior;
  }
  const double root_of_visits = std::sqrt(node.visits + 1.0);
  uint32_t best = kNone;
  double best_score = 0;
  for (uint32_t i = 0; i < node.edges.size(); ++i) {
    const Edge& edge = node.edges[i];
    if (!leads_on(edge)) continue;
    const double score =
        Quality(nodes_[edge.child.value()].best) +
        kExploration * edge.prior / sum * root_of_visits / (1 + edge.visits + edge.under_way);
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
    while (true) {
      Node& node = nodes_[at.value()];
      leaf->nodes.push_back(at);
      const uint32_t chosen =
          MayWiden(node) || leaf->path.size() >= kMaxDepth ? kNone : BestEdge(node);
      if (chosen == kNone) break;
      leaf->edges.push_back(chosen);
      leaf->path.push_back(node.edges[chosen].action);
      at = node.edges[chosen].child;
    }
    Node& node = nodes_[at.value()];
    if (!node.untried.empty()) {
      Widen(node, *leaf);
      Begin(*leaf);
      return true;
    }
    // What is below may have come to its end on the way of others.
    UpdateExhausted(node);
    if (node.exhausted) continue;
    if (at == root_) return false;
    node.busy = true;
    busy_.push_back(at);
  }
  return false;
}

void SearchTree::Begin(const Leaf& leaf) {
  for (size_t i = 0; i < leaf.nodes.size(); ++i) {
    Node& node = nodes_[leaf.nodes[i].value()];
    ++node.visits;
    if (i < leaf.edges.size()) ++node.edges[leaf.edges[i]].under_way;
  }
}

void SearchTree::UpdateExhausted(Node& node) {
  const auto finished = [this](const Edge& edge) { return Finished(edge); };
  node.exhausted |= node.untried.empty() && std::ranges::all_of(node.edges, finished);
}

void SearchTree::Observe(const Leaf& leaf, std::span<const State> states) {
  for (const NodeId id : busy_) nodes_[id.value()].busy = false;
  busy_.clear();
  const NodeId tried = leaf.nodes.back();
  double best = nodes_[tried.value()].best;
  for (size_t i = 0; i < states.size(); ++i) {
    const double drop = nodes_[tried.value()].cost - states[i].cost;
    if (root_cost() > 0) priors_.Learn(leaf.tries[i], drop / root_cost());
    const NodeId child = states[i].changed ? MakeNode(states[i]) : tried;
    Edge& edge = nodes_[tried.value()].edges[leaf.first_edge + i];
    edge.child = child;
    edge.nowhere = child == tried;
    edge.under_way = 0;
    edge.visits = 1;
    best = std::min(best, nodes_[child.value()].best);
  }
  for (size_t i = leaf.nodes.size(); i-- > 0;) {
    Node& node = nodes_[leaf.nodes[i].value()];
    if (i < leaf.edges.size()) {
      Edge& edge = node.edges[leaf.edges[i]];
      ++edge.visits;
      --edge.under_way;
    }
    UpdateExhausted(node);
    best = std::min(best, node.best);
    node.best = best;
  }
}

}  // namespace quotient::search
