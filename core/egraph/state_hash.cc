#include "core/egraph/state_hash.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/base/digest.h"
#include "core/egraph/egraph.h"

namespace quotient::egraph {
namespace {

constexpr uint32_t kUnknown = 0xffffffffu;

uint64_t Mix(uint64_t hash, uint64_t value) {
  // Not a plain xor: a value must not cancel itself.
  hash = hash * 0x9e3779b97f4a7c15u + value;
  hash = (hash ^ (hash >> 32)) * 0xbf58476d1ce4e5b9u;
  return hash ^ (hash >> 29);
}

}  // namespace

// By the word's name: its number depends on the order in which words were interned.
uint64_t StateHash::HashOfWord(const EGraph& graph, OpId op) {
  if (op.value() >= word_hashes_.size()) word_hashes_.resize(op.value() + 1);
  uint64_t& hash = word_hashes_[op.value()];
  if (hash == 0) {
    std::memcpy(&hash, Digest::Of(graph.table().Name(op)).bytes().data(), sizeof(hash));
  }
  return hash;
}

uint64_t StateHash::HashOfTerm(const EGraph& graph, ENodeId node) {
  const ENodeView view = graph.node(node);
  uint64_t hash = HashOfWord(graph, view.op);
  for (ClassId child : view.children) hash = Mix(hash, names_[child.value()].hash.get());
  return Mix(hash, view.children.size());
}

StateHash::ClassName StateHash::NameOf(const EGraph& graph, ClassId id) {
  ClassName best;
  graph.ForEachMember(id, [&](ENodeId node) {
    if (!graph.live(node)) return;
    uint32_t height = 0;
    for (ClassId child : graph.node(node).children) {
      const uint32_t below = names_[child.value()].height;
      if (below == kUnknown) return;
      height = std::max(height, below + 1);
    }
    if (height > best.height) return;
    const uint64_t hash = HashOfTerm(graph, node);
    if (height < best.height || hash < best.hash.get()) best = {height, Bits(hash)};
  });
  return best;
}

void StateHash::Unite(const EGraph& graph, ClassId kept, ClassId absorbed) {
  names_.Extend(graph.class_bound(), ClassName());
  // Not the hash: Update has to see that the name is another.
  const uint32_t height = names_[absorbed.value()].height;
  if (height < names_[kept.value()].height) {
    names_.Write(kept.value(), &ClassName::height, height);
  }
}

uint64_t StateHash::ValueOf(const EGraph& graph) {
  if (total_[0].seen < touched_.size()) {
    Update(graph, touched_.span().subspan(total_[0].seen));
    if (!touched_.guarded()) touched_.Clear();
    total_.Write(0, &Total::seen, touched_.size());
  }
  return total_[0].bits.get();
}

void StateHash::Update(const EGraph& graph, std::span<const ENodeId> touched) {
  names_.Extend(graph.class_bound(), ClassName());
  rows_.Extend(graph.enode_bound(), Bits());
  // Flat classes first, new ones in the order in which they were made: then most names are final
  // when they are first computed. Others are computed again when a child gets another name.
  using Entry = std::pair<uint32_t, ClassId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  absl::flat_hash_set<ClassId> queued;
  absl::flat_hash_set<ENodeId> rows;
  const auto enqueue = [&](ENodeId node) {
    if (!rows.insert(node).second && queued.contains(graph.class_of(node))) return;
    const ClassId id = graph.class_of(node);
    if (queued.insert(id).second) queue.emplace(names_[id.value()].height, id);
  };
  for (ENodeId node : touched) enqueue(node);
  while (!queue.empty()) {
    const ClassId id = queue.top().second;
    queue.pop();
    queued.erase(id);
    const ClassName name = NameOf(graph, id);
    if (name == names_[id.value()]) continue;
    names_.Write(id.value(), name);
    graph.ForEachMember(id, [&](ENodeId node) { rows.insert(node); });
    graph.ForEachUse(id, [&](ENodeId node, uint32_t) { enqueue(node); });
  }
  uint64_t total = total_[0].bits.get();
  for (ENodeId node : rows) {
    const Bits before = rows_[node.value()];
    Bits now;
    if (graph.live(node)) {
      now = Bits(Mix(HashOfTerm(graph, node), names_[graph.class_of(node).value()].hash.get()));
    }
    total += now.get() - before.get();
    if (!(now == before)) rows_.Write(node.value(), now);
  }
  total_.Write(0, &Total::bits, Bits(total));
}

}  // namespace quotient::egraph
