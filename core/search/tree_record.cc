// How a search tree is stored. What follows from the stored fields is left out: which simulations
// are under way, their counts on the edges, the parents of nodes, and the least cost of the tree.

#include <algorithm>
#include <limits>
#include <utility>

#include "core/search/checkpoint.h"
#include "core/search/field_stream.h"
#include "core/search/search_tree.h"

namespace quotient::search {
namespace {

constexpr uint64_t kMostVisits = 0x7fffffffu;
constexpr uint64_t kMostNodes = 0x7fffffffu;
// The least size of an edge, and of a node with its hash.
constexpr size_t kEdgeBytes = 14;
constexpr size_t kNodeBytes = 32;

// Stored as the number plus one, with zero for an invalid id.
void VisitId(FieldWriter& stream, const SearchTree::NodeId& id) {
  stream.Number(id.valid() ? uint64_t{id.value()} + 1 : 0, kMostNodes);
}
void VisitId(FieldReader& stream, SearchTree::NodeId& id) {
  uint32_t number;
  stream.Number(number, kMostNodes);
  id = number == 0 ? SearchTree::NodeId() : SearchTree::NodeId(number - 1);
}

// Stored as a double, which loses nothing.
void VisitFloat(FieldWriter& stream, const float& value) { stream.Real(value, 0, 0); }
void VisitFloat(FieldReader& stream, float& value) {
  double wide;
  constexpr double kMost = std::numeric_limits<float>::max();
  stream.Real(wide, -kMost, kMost);
  value = static_cast<float>(wide);
}

}  // namespace

template <typename Stream, typename TheNode>
void SearchTree::VisitNode(Stream& stream, TheNode& node, size_t num_rules) {
  stream.Real(node.cost, -kAnyCost, kAnyCost);
  stream.Real(node.best, -kAnyCost, kAnyCost);
  stream.Number(node.enodes, kMostCounted);
  stream.Number(node.visits, kMostVisits);
  stream.Number(node.batches, kMostVisits);
  stream.Number(node.opened_at, kMostCounted);
  stream.Number(node.exhausted, 1);
  stream.Number(node.busy, 1);
  VisitActions(stream, node.untried, num_rules);
  stream.List(node.edges, kEdgeBytes, [&](auto& edge) {
    VisitAction(stream, edge.action, num_rules);
    VisitFloat(stream, edge.prior);
    stream.Number(edge.visits, kMostVisits);
    VisitId(stream, edge.child);
    stream.Number(edge.is_self_loop, 1);
  });
}

void SearchTree::Write(FieldWriter& stream) const {
  stream.Number(now_, kMostCounted);
  stream.Number(num_duplicates_, kMostNodes);
  stream.Number(grown_, kMostCounted);
  stream.Number(stepped_, kMostCounted);
  std::vector<uint64_t> hashes(nodes_.size(), 0);
  for (const auto& [hash, id] : node_of_state_) hashes[id.value()] = hash;
  size_t i = 0;
  stream.List(nodes_, kNodeBytes, [&](const Node& node) {
    stream.Word(hashes[i++]);
    VisitNode(stream, node, priors_.num_rules());
  });
}

void SearchTree::Read(FieldReader& stream) {
  stream.Number(now_, kMostCounted);
  stream.Number(num_duplicates_, kMostNodes);
  stream.Number(grown_, kMostCounted);
  stream.Number(stepped_, kMostCounted);
  std::vector<uint64_t> hashes;
  stream.List(nodes_, kNodeBytes, [&](Node& node) {
    stream.Word(hashes.emplace_back());
    VisitNode(stream, node, priors_.num_rules());
  });
  if (nodes_.empty() || !BuildIndices(hashes)) stream.Fail();
}

// False if what was read is inconsistent. Open nodes have a hash and others do not; the root is
// open.
bool SearchTree::BuildIndices(const std::vector<uint64_t>& hashes) {
  root_ = NodeId(0);
  node_of_state_.clear();
  busy_.clear();
  num_under_way_ = 0;
  best_cost_ = nodes_[0].cost;
  for (Node& node : nodes_) node.parents.clear();
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if ((hashes[i] != 0) != (node.opened_at != 0)) return false;
    if (hashes[i] != 0 && !node_of_state_.try_emplace(hashes[i], NodeId(i)).second) return false;
    for (const Edge& edge : node.edges) {
      if (!edge.child.valid()) continue;
      if (edge.child.value() >= nodes_.size()) return false;
      if (!edge.is_self_loop) nodes_[edge.child.value()].parents.emplace_back(i);
    }
    best_cost_ = std::min(best_cost_, node.cost);
    if (node.busy) busy_.emplace_back(i);
  }
  return nodes_[0].opened_at != 0 && num_duplicates_ < nodes_.size();
}

bool SearchTree::RestoreLeaf(Leaf* leaf) {
  ++num_under_way_;
  NodeId at = root_;
  leaf->nodes = {at};
  leaf->path.clear();
  for (const uint32_t chosen : leaf->edges) {
    Node& node = nodes_[at.value()];
    if (chosen >= node.edges.size() || !node.edges[chosen].child.valid()) return false;
    Edge& edge = node.edges[chosen];
    ++edge.under_way;
    at = edge.child;
    leaf->path.push_back(edge.action);
    leaf->nodes.push_back(at);
  }
  Node& node = nodes_[at.value()];
  DescribeLeaf(node, leaf);
  if (leaf->priors.has_value()) {
    return node.opened_at == 0 && !std::exchange(node.opening, true);
  }
  if (leaf->first_edge > node.edges.size()) return false;
  if (leaf->tries.size() > node.edges.size() - leaf->first_edge) return false;
  for (size_t i = 0; i < leaf->tries.size(); ++i) {
    Edge& edge = node.edges[leaf->first_edge + i];
    if (edge.child.valid() || edge.under_way > 0 || edge.action != leaf->tries[i]) return false;
    edge.under_way = 1;
  }
  return true;
}

}  // namespace quotient::search
