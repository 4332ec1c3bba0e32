#include "core/extract/blocks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/extract/dominators.h"
#include "core/extract/instance_builder.h"

namespace quotient::extract {
namespace {

// Blocks have at least this many e-nodes; a smaller one is solved as part of the one above.
constexpr uint32_t kMinNodes = 24;

// Numbers the vertices so that each one and all that it dominates form the interval from `first` to
// below `end`. Both are indexed by position in the order of the dominator tree.
struct Intervals {
  explicit Intervals(const DominatorTree& tree)
      : first(tree.order.size(), 0), end(tree.order.size(), 1) {
    const size_t n = tree.order.size();
    for (size_t i = n; i-- > 1;) end[tree.parent[i]] += end[i];  // Holds sizes at this point.
    std::vector<uint32_t> next(n, 1);
    for (size_t i = 1; i < n; ++i) {
      uint32_t& at = next[tree.parent[i]];
      first[i] = at;
      at += end[i];
      end[i] += first[i];
      next[i] = first[i] + 1;
    }
  }
  std::vector<uint32_t> first;
  std::vector<uint32_t> end;
};

// By position, whether the vertex dominates all that it reaches.
std::vector<bool> FindClosed(const egraph::GroupedList<uint32_t>& edges, const DominatorTree& tree,
                             const Intervals& intervals) {
  std::vector<uint32_t> first_of(edges.num_keys());  // By vertex.
  for (size_t i = 0; i < tree.order.size(); ++i) first_of[tree.order[i]] = intervals.first[i];
  std::vector<uint32_t> low = intervals.first;
  std::vector<uint32_t> high = intervals.first;
  std::vector<bool> closed(tree.order.size());
  for (size_t i = tree.order.size(); i-- > 0;) {
    for (const uint32_t to : edges[tree.order[i]]) {
      low[i] = std::min(low[i], first_of[to]);
      high[i] = std::max(high[i], first_of[to]);
    }
    closed[i] = low[i] >= intervals.first[i] && high[i] < intervals.end[i];
    const uint32_t above = tree.parent[i];
    low[above] = std::min(low[above], low[i]);
    high[above] = std::max(high[above], high[i]);
  }
  return closed;
}

}  // namespace

Blocks::Blocks(const Instance& whole, std::vector<bool> needed)
    : whole_(whole),
      needed_(std::move(needed)),
      // A single root is the start itself.
      start_(whole.roots.size() == 1 && needed_.empty()
                 ? whole.roots[0].value()
                 : static_cast<uint32_t>(whole.num_classes()) + whole.num_computed),
      block_of_(whole.num_classes(), kNoBlock),
      local_id_(whole.num_classes()),
      made_in_(whole.num_classes(), 0) {
  FindFree();
  Cut();
}

void Blocks::FindFree() {
  free_.resize(whole_.num_classes());
  for (uint32_t i = 0; i < whole_.num_nodes(); ++i) {
    const bool alone = whole_.computes.empty() || whole_.computes[i] == Instance::kComputesAlone;
    if (whole_.cost[i] > 0 || !whole_.children[i].empty() || !alone) continue;
    Node& node = free_[whole_.class_of[i].value()];
    // Among several, an original e-node is preferred, then the older one.
    if (!node.valid() || whole_.rewritten[i] < whole_.rewritten[node.value()]) node = Node(i);
  }
  if (start_ < whole_.num_classes()) free_[start_] = Node();
}

// Edges from classes to children that are neither free nor known to be needed, and to the vertices
// of what they compute, if others compute it, too.
egraph::GroupedList<uint32_t> Blocks::Edges() const {
  const auto num_classes = static_cast<uint32_t>(whole_.num_classes());
  egraph::GroupedList<uint32_t> edges;
  edges.Reserve(num_classes + whole_.num_computed + 1, whole_.children.values().size());
  for (uint32_t id = 0; id < num_classes; ++id) {
    for (const Node node : whole_.nodes[id]) {
      if (free(Class(id))) break;
      for (const Class child : whole_.children[node.value()]) {
        if (!free(child) && !needed(child)) edges.Push(child.value());
      }
      if (whole_.computes.empty()) continue;
      const uint32_t computed = whole_.computes[node.value()];
      if (computed != Instance::kComputesAlone) edges.Push(num_classes + computed);
    }
    edges.EndKey();
  }
  for (uint32_t i = 0; i < whole_.num_computed; ++i) edges.EndKey();
  for (const Class root : whole_.roots) {
    if (!free(root)) edges.Push(root.value());
  }
  for (uint32_t id = 0; id < needed_.size(); ++id) {
    if (needed_[id] && !free(Class(id))) edges.Push(id);
  }
  edges.EndKey();
  return edges;
}

void Blocks::Cut() {
  const egraph::GroupedList<uint32_t> edges = Edges();
  const DominatorTree tree = Dominators(edges, start_);
  const std::vector<bool> closed = FindClosed(edges, tree, Intervals(tree));
  // By position: e-nodes below that are not cut off yet.
  std::vector<uint32_t> num_nodes(tree.order.size(), 0);
  std::vector<bool> cut(tree.order.size(), false);
  const auto is_class = [&](size_t i) { return tree.order[i] < whole_.num_classes(); };
  for (size_t i = tree.order.size(); i-- > 0;) {
    if (is_class(i)) num_nodes[i] += static_cast<uint32_t>(whole_.nodes[tree.order[i]].size());
    cut[i] = i == 0 || (is_class(i) && closed[i] && num_nodes[i] >= kMinNodes);
    if (!cut[i]) num_nodes[tree.parent[i]] += num_nodes[i];
  }
  const auto num_blocks = static_cast<uint32_t>(std::ranges::count(cut, true));
  below_.resize(num_blocks);
  roots_.resize(num_blocks);
  std::vector<uint32_t> block(tree.order.size());  // By position.
  for (size_t i = 0, begun = 0; i < tree.order.size(); ++i) {
    block[i] = block[tree.parent[i]];
    if (cut[i]) {
      const uint32_t above = block[i];
      block[i] = num_blocks - 1 - static_cast<uint32_t>(begun++);
      if (i > 0) {
        roots_[block[i]].push_back(Class(tree.order[i]));
        if (!needed(Class(tree.order[i]))) below_[above].push_back(block[i]);
      }
    }
    if (is_class(i)) block_of_[tree.order[i]] = block[i];
  }
  if (!needed_.empty()) Divide(edges);
  FindRoots();
}

// Divides the last block into parts that have nothing in common but needed and free classes.
void Blocks::Divide(const egraph::GroupedList<uint32_t>& edges) {
  const auto last = static_cast<uint32_t>(below_.size() - 1);
  std::vector<uint32_t> parent(edges.num_keys());
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&parent](uint32_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  for (uint32_t id = 0; id < block_of_.size(); ++id) {
    if (block_of_[id] != last) continue;
    for (const uint32_t to : edges[id]) parent[find(to)] = find(id);
  }
  std::vector<uint32_t> number(edges.num_keys(), kNoBlock);
  uint32_t next = last;
  for (uint32_t id = 0; id < block_of_.size(); ++id) {
    if (block_of_[id] != last) continue;
    uint32_t& part = number[find(id)];
    if (part == kNoBlock) part = next++;
    block_of_[id] = part;
  }
  const std::vector<uint32_t> below = std::move(below_[last]);
  below_.resize(next);
  roots_.resize(next);
  for (const uint32_t block : below) {
    const uint32_t above = number[find(roots_[block].front().value())];
    if (above != kNoBlock) below_[above].push_back(block);  // Otherwise it is a root of the whole.
  }
}

// Finds the roots of blocks that do not lie below one closed class.
void Blocks::FindRoots() {
  if (needed_.empty()) {
    roots_.back() = whole_.roots;
    return;
  }
  std::vector<bool> added(whole_.num_classes(), false);
  for (const std::vector<Class>& roots : roots_) {
    for (const Class root : roots) added[root.value()] = true;
  }
  const auto add = [&](Class id) {
    if (free(id) || added[id.value()]) return;
    added[id.value()] = true;
    roots_[block_of_[id.value()]].push_back(id);
  };
  for (const Class root : whole_.roots) {
    // A root with a block of its own is in no cycle through other blocks, whatever is in its block.
    if (added[root.value()]) needed_[root.value()] = true;
    add(root);
  }
  for (uint32_t id = 0; id < needed_.size(); ++id) {
    if (needed_[id]) add(Class(id));
  }
}

uint32_t Blocks::LocalId(Class id) {
  if (made_in_[id.value()] != num_made_) {
    made_in_[id.value()] = num_made_;
    local_id_[id.value()] = static_cast<uint32_t>(classes_.size());
    classes_.push_back(id);
  }
  return local_id_[id.value()];
}

Instance Blocks::Make(size_t block, std::span<const double> cost) {
  ++num_made_;
  classes_.clear();
  InstanceBuilder builder(0, 0);
  for (const Class root : roots_[block]) builder.AddRoot(LocalId(root));
  for (uint32_t local; builder.NextClass(local);) {
    const Class id = classes_[local];
    const uint32_t its_block = block_of_[id.value()];
    const bool member = its_block == block;
    builder.DescribeClass(whole_.class_id[id.value()], member && whole_.inside[id.value()]);
    if (free(id)) {
      builder.CopyNode(whole_, free_[id.value()]);
      builder.EndNode();
    } else if (!member) {
      builder.AddStandIn(needed(id) ? 0 : cost[its_block]);
      builder.EndNode();
    } else {
      for (const Node node : whole_.nodes[id.value()]) {
        builder.CopyNode(whole_, node);
        for (size_t at = 0; at < whole_.children[node.value()].size(); ++at) {
          builder.AddChild(LocalId(whole_.children[node.value()][at]),
                           whole_.multiplicity[node.value()][at]);
        }
        builder.EndNode();
      }
    }
  }
  return builder.Finish();
}

}  // namespace quotient::extract
