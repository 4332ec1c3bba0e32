#include "core/search/search_tree.h"

#include <algorithm>
#include <cmath>

namespace quotient::search {
namespace {

constexpr double kExploration = 1.0;
constexpr double kWidening = 0.5;  // Batches of edges per square root of visits.
constexpr int64_t kLeastBatch = 8;
constexpr int64_t kENodesPerTry = 32;
constexpr size_t kMaxDepth = 1000;
constexpr uint32_t kNone = 0xffffffffu;

bool GrowsToTheLimit(Action action) {
  return action.kind == Action::Kind::kGrow && action.amount == Action::kToTheLimit;
}

// Moves the most promising actions from `from` to `tries` until these make up a batch. The more
// e-nodes the path to the node adds, the larger the batch.
void MoveBest(const Priors& priors, int64_t added_enodes, bool may_grow, std::vector<Action>& from,
              std::vector<Action>& tries) {
  const auto batch = static_cast<size_t>(kLeastBatch + added_enodes / kENodesPerTry);
  while (tries.size() < batch) {
    auto best = from.end();
    for (auto it = from.begin(); it != from.end(); ++it) {
      if (GrowsToTheLimit(*it) && !may_grow) continue;
      if (best == from.end() || priors.Expect(*it) > priors.Expect(*best)) best = it;
    }
    if (best == from.end()) break;
    tries.push_back(*best);
    from.erase(best);
  }
}

}  // namespace

void SearchTree::Reset(const State& root, const Opened& opened) {
  nodes_.clear();
  node_of_state_.clear();
  busy_.clear();
  num_duplicates_ = 0;
  num_under_way_ = 0;
  best_cost_ = root.cost;
  root_ = MakeNode(root);
  Node& node = nodes_[root_.value()];
  node.opened_at = now_;
  node.untried = opened.actions;
  node.exhausted = opened.actions.empty();
  node_of_state_.emplace(opened.hash, root_);
}

SearchTree::NodeId SearchTree::MakeNode(const State& state) {
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  Node& node = nodes_.emplace_back();
  node.cost = node.best = state.cost;
  node.bill = state.bill;
  node.enodes = state.enodes;
  node.exhausted = state.final();
  best_cost_ = std::min(best_cost_, state.cost);
  return id;
}

bool SearchTree::Knows(uint64_t hash, const Leaf& leaf) const {
  const auto known = node_of_state_.find(hash);
  return known != node_of_state_.end() && nodes_[known->second.value()].opened_at <= leaf.as_of;
}

// Opens the node of a leaf and returns it. If the state is known, the known node replaces it and is
// returned.
SearchTree::NodeId SearchTree::Open(const Leaf& leaf, const Opened& opened) {
  const NodeId id = leaf.nodes.back();
  Node& node = nodes_[id.value()];
  node.opening = false;
  const auto [known, fresh] = node_of_state_.try_emplace(opened.hash, id);
  if (!fresh) {
    const NodeId parent = leaf.nodes[leaf.nodes.size() - 2];
    Connect(parent, leaf.edges.back(), known->second);
    LowerBest(parent, nodes_[known->second.value()].best);
    ++num_duplicates_;
    return known->second;
  }
  node.opened_at = now_;
  node.untried = opened.actions;
  ++node.batches;
  AddEdges(node, leaf.tries);
  return id;
}

double SearchTree::Quality(double cost) const {
  const double root = root_cost();
  return root > best_cost_ ? (root - cost) / (root - best_cost_) : 0;
}

int64_t SearchTree::AddedENodes(const Node& node) const {
  return std::max<int64_t>(0, node.enodes - nodes_[root_.value()].enodes);
}

bool SearchTree::HasTries(const Node& node, bool may_grow) {
  if (may_grow) return !node.untried.empty();
  return !std::ranges::all_of(node.untried, GrowsToTheLimit);
}

bool SearchTree::MayWiden(const Node& node, bool may_grow) const {
  return node.batches < kWidening * std::sqrt(node.visits + 1.0) && HasTries(node, may_grow);
}

void SearchTree::SelectTries(Opened& opened, Leaf& leaf) {
  MoveBest(*leaf.priors, leaf.added_enodes, /*may_grow=*/false, opened.actions, leaf.tries);
}

void SearchTree::AddEdges(Node& node, const std::vector<Action>& tries) {
  for (const Action action : tries) {
    const float prior = static_cast<float>(priors_.Expect(action));
    node.edges.push_back({.action = action, .prior = prior, .under_way = 1});
  }
}

// The edge to descend to, among those below which something can be tried; kNone if there is none.
uint32_t SearchTree::BestEdge(const Node& node) const {
  const auto leads_on = [this](const Edge& edge) {
    if (!edge.child.valid() || Finished(edge)) return false;
    const Node& child = nodes_[edge.child.value()];
    return !child.busy && !child.opening;
  };
  // A prior is negative where costs rose, as they may when kernels are measured. Such an edge gets
  // no share; if no edge gets one, all get the same.
  double sum = 0;
  int count = 0;
  for (const Edge& edge : node.edges) {
    if (!leads_on(edge)) continue;
    sum += std::max(edge.prior, 0.0f);
    ++count;
  }
  const auto share = [&](const Edge& edge) {
    return sum > 0 ? std::max(edge.prior, 0.0f) / sum : 1.0 / count;
  };
  const double root_of_visits = std::sqrt(node.visits + 1.0);
  uint32_t best = kNone;
  double best_score = 0;
  for (uint32_t i = 0; i < node.edges.size(); ++i) {
    const Edge& edge = node.edges[i];
    if (!leads_on(edge)) continue;
    const double score =
        Quality(nodes_[edge.child.value()].best) +
        kExploration * share(edge) * root_of_visits / (1 + edge.visits + edge.under_way);
    if (best == kNone || score > best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

bool SearchTree::Select(Leaf* leaf) {
  if (SelectLeaf(grown_ < stepped_, leaf)) return true;
  // Growing is not selected out of turn while simulations are under way, since their results may
  // bring other actions to try.
  if (num_under_way_ > 0) return false;
  ClearBusy();
  return SelectLeaf(/*may_grow=*/true, leaf);
}

void SearchTree::DescribeLeaf(const Node& node, Leaf* leaf) const {
  leaf->added_enodes = AddedENodes(node);
  leaf->cost = node.cost;
  leaf->bill = node.bill;
}

bool SearchTree::SelectLeaf(bool may_grow, Leaf* leaf) {
  while (!exhausted()) {
    *leaf = {};
    NodeId at = root_;
    while (true) {
      Node& node = nodes_[at.value()];
      leaf->nodes.push_back(at);
      const bool ends =
          node.opened_at == 0 || MayWiden(node, may_grow) || leaf->path.size() >= kMaxDepth;
      const uint32_t chosen = ends ? kNone : BestEdge(node);
      if (chosen == kNone) break;
      leaf->edges.push_back(chosen);
      leaf->path.push_back(node.edges[chosen].action);
      at = node.edges[chosen].child;
    }
    Node& node = nodes_[at.value()];
    DescribeLeaf(node, leaf);
    if (node.opened_at == 0) {
      node.opening = true;
      leaf->priors = priors_;
      leaf->as_of = now_;
      MarkUnderWay(*leaf);
      return true;
    }
    if (HasTries(node, may_grow)) {
      leaf->first_edge = static_cast<uint32_t>(node.edges.size());
      ++node.batches;
      MoveBest(priors_, leaf->added_enodes, may_grow, node.untried, leaf->tries);
      AddEdges(node, leaf->tries);
      MarkUnderWay(*leaf);
      return true;
    }
    // The nodes below may have been exhausted through other paths that share them.
    UpdateExhausted(node);
    node.exhausted |= leaf->path.size() >= kMaxDepth;
    if (node.exhausted) continue;
    if (at == root_) return false;
    node.busy = true;
    busy_.push_back(at);
  }
  return false;
}

void SearchTree::ClearBusy() {
  for (const NodeId id : busy_) nodes_[id.value()].busy = false;
  busy_.clear();
}

void SearchTree::MarkUnderWay(const Leaf& leaf) {
  ++num_under_way_;
  for (size_t i = 0; i < leaf.nodes.size(); ++i) {
    Node& node = nodes_[leaf.nodes[i].value()];
    ++node.visits;
    if (i < leaf.edges.size()) ++node.edges[leaf.edges[i]].under_way;
  }
}

void SearchTree::UpdateExhausted(Node& node) {
  const auto finished = [this](const Edge& edge) { return Finished(edge); };
  if (node.opened_at == 0) return;
  node.exhausted |= node.untried.empty() && std::ranges::all_of(node.edges, finished);
}

void SearchTree::Attach(NodeId tried, uint32_t edge_index, const State& state) {
  const NodeId child = state.changed ? MakeNode(state) : tried;
  Edge& edge = nodes_[tried.value()].edges[edge_index];
  edge.child = child;
  edge.is_self_loop = child == tried;
  edge.under_way = 0;
  edge.visits = 1;
  if (!edge.is_self_loop) nodes_[child.value()].parents.push_back(tried);
}

// Lets the edge lead to another node than before.
void SearchTree::Connect(NodeId parent, uint32_t edge, NodeId child) {
  nodes_[parent.value()].edges[edge].child = child;
  nodes_[child.value()].parents.push_back(parent);
}

// Lowers the best cost of a node to `best`, and likewise that of all nodes from which the node can
// be reached over any path.
void SearchTree::LowerBest(NodeId id, double best) {
  std::vector<NodeId> open = {id};
  while (!open.empty()) {
    Node& node = nodes_[open.back().value()];
    open.pop_back();
    if (node.best <= best) continue;
    node.best = best;
    open.insert(open.end(), node.parents.begin(), node.parents.end());
  }
}

void SearchTree::Observe(const Leaf& leaf, const Opened& opened, std::span<const State> states) {
  ClearBusy();
  --num_under_way_;
  ++now_;
  const NodeId selected = leaf.nodes.back();
  const NodeId tried = leaf.priors.has_value() ? Open(leaf, opened) : selected;
  for (size_t i = 0; i < states.size(); ++i) {
    (GrowsToTheLimit(leaf.tries[i]) ? grown_ : stepped_) += states[i].enodes;
    const double drop = nodes_[tried.value()].cost - states[i].cost;
    if (root_cost() > 0) priors_.Learn(leaf.tries[i], drop / root_cost());
    // In a duplicate of a known state, equal actions may have other numbers.
    if (tried == selected) Attach(tried, leaf.first_edge + static_cast<uint32_t>(i), states[i]);
    LowerBest(tried, states[i].cost);
  }
  for (size_t i = leaf.nodes.size(); i-- > 0;) {
    Node& node = nodes_[leaf.nodes[i].value()];
    if (i < leaf.edges.size()) {
      Edge& edge = node.edges[leaf.edges[i]];
      ++edge.visits;
      --edge.under_way;
    }
    UpdateExhausted(node);
  }
}

void SearchTree::Reprice(absl::FunctionRef<double(BillId)> cost_of) {
  CorrectPriors(-1);
  Node& root = nodes_[root_.value()];
  if (root.bill.valid()) root.cost = cost_of(root.bill);
  for (Node& node : nodes_) {
    if (node.bill.valid()) node.cost = cost_of(node.bill);
    node.cost = std::min(node.cost, root.cost);
  }
  CorrectPriors(1);
  FindBest();
}

// Adds the drops of all edges at present costs to the priors, or subtracts them if `sign` is -1.
void SearchTree::CorrectPriors(double sign) {
  if (root_cost() <= 0) return;
  for (const Node& node : nodes_) {
    for (const Edge& edge : node.edges) {
      if (!edge.child.valid()) continue;
      const double drop = node.cost - nodes_[edge.child.value()].cost;
      priors_.Correct(edge.action, sign * drop / root_cost());
    }
  }
}

// Computes all best costs again. States are handled from the cheapest to the dearest, so that the
// best cost of a node is lowered at most once.
void SearchTree::FindBest() {
  std::vector<NodeId> by_cost;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].best = nodes_[i].cost;
    by_cost.emplace_back(i);
  }
  std::ranges::sort(by_cost, {}, [this](NodeId id) { return nodes_[id.value()].cost; });
  best_cost_ = nodes_[by_cost.front().value()].cost;
  for (const NodeId id : by_cost) {
    const Node& node = nodes_[id.value()];
    for (const NodeId parent : node.parents) LowerBest(parent, node.cost);
  }
}

}  // namespace quotient::search
