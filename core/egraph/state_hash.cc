#include "core/egraph/state_hash.h"

#include <algorithm>
#include <cstring>

#include "core/base/digest.h"
#include "core/egraph/egraph.h"

namespace quotient::egraph {
namespace {

constexpr uint32_t kUnknown = 0xffffffffu;

uint64_t Mix(uint64_t hash, uint64_t value) {
  // A plain xor would let equal values cancel each other.
  hash = hash * 0x9e3779b97f4a7c15u + value;
  hash = (hash ^ (hash >> 32)) * 0xbf58476d1ce4e5b9u;
  return hash ^ (hash >> 29);
}

}  // namespace

// Hashes the word's name, because its id depends on the order in which words were interned.
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

StateHash::ClassName StateHash::NameBy(const EGraph& graph, ENodeId node) {
  if (!graph.live(node)) return {};
  uint32_t height = 0;
  for (const ClassId child : graph.node(node).children) {
    const uint32_t below = names_[child.value()].height;
    if (below == kUnknown) return {};
    height = std::max(height, below + 1);
  }
  return {height, Bits(HashOfTerm(graph, node)), node};
}

StateHash::ClassName StateHash::NameOf(const EGraph& graph, ClassId id) {
  ClassName best;
  graph.store().ForEachMember(id, [&](ENodeId node) {
    const ClassName name = NameBy(graph, node);
    if (IsLess(name, best)) best = name;
  });
  return best;
}

void StateHash::Unite(const EGraph& graph, ClassId kept, ClassId absorbed) {
  names_.Extend(graph.class_bound(), ClassName());
  const ClassName& other = names_[absorbed.value()];
  if (other.height >= names_[kept.value()].height) return;
  // An invalid e-node makes Update look for the class's name.
  names_.Write(kept.value(), {other.height, names_[kept.value()].hash, ENodeId()});
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
  outdated_rows_.Begin(graph.enode_bound());
  queued_.Begin(graph.enode_bound());
  for (const ENodeId node : touched) TakeIn(graph, node);
  for (ENodeId node = TakeNext(); node.valid(); node = TakeNext()) {
    queued_.Remove(node.value());
    const ClassId id = graph.class_of(node);
    const ClassName& known = names_[id.value()];
    const ClassName name = NameBy(graph, node);
    const bool doubtful = known.height != kUnknown && !known.node.valid();
    if (doubtful || (known.node == node && IsLess(known, name))) {
      SetName(graph, id, NameOf(graph, id));
    } else if (IsLess(name, known)) {
      SetName(graph, id, name);
    }
  }
  uint64_t total = total_[0].bits.get();
  for (const uint32_t node : outdated_rows_.added()) {
    const Bits before = rows_[node];
    const Bits now = RowOf(graph, ENodeId(node));
    total += now.get() - before.get();
    if (!(now == before)) rows_.Write(node, now);
  }
  total_.Write(0, &Total::bits, Bits(total));
}

// Queues an e-node whose contribution, and whose class's name, may have changed. Flat classes come
// first, and new ones in order of creation, so that most names are final when first computed. A
// name is computed again when a child's name changes.
void StateHash::TakeIn(const EGraph& graph, ENodeId node) {
  outdated_rows_.Add(node.value());
  if (!queued_.Add(node.value())) return;
  const uint32_t height = names_[graph.class_of(node).value()].height;
  if (height == kUnknown) return unknown_.Push(node);
  if (height >= levels_.size()) levels_.resize(height + 1);
  levels_[height].Push(node);
  lowest_ = std::min(lowest_, height);
}

// Returns an invalid id if nothing is queued.
ENodeId StateHash::TakeNext() {
  while (lowest_ < levels_.size() && levels_[lowest_].empty()) ++lowest_;
  Queue& first = lowest_ < levels_.size() ? levels_[lowest_] : unknown_;
  return first.empty() ? ENodeId() : first.Pop();
}

void StateHash::SetName(const EGraph& graph, ClassId id, const ClassName& name) {
  const bool another =
      name.height != names_[id.value()].height || !(name.hash == names_[id.value()].hash);
  names_.Write(id.value(), name);
  if (!another) return;
  graph.store().ForEachMember(id, [&](ENodeId node) { outdated_rows_.Add(node.value()); });
  graph.store().ForEachUse(id, [&](ENodeId node, uint32_t) { TakeIn(graph, node); });
}

StateHash::Bits StateHash::RowOf(const EGraph& graph, ENodeId node) {
  if (!graph.live(node)) return {};
  return Bits(Mix(HashOfTerm(graph, node), names_[graph.class_of(node).value()].hash.get()));
}

}  // namespace quotient::egraph
