// Cycle detection by topological levels. The level of a class is greater than those of its e-nodes'
// children, so a union closes a cycle exactly if it would make a level rise above itself. Raising
// goes upwards through the parents in the order of their old levels, so that each class rises once.
// It stops where levels are high enough already.
//
// Reference: the one-way search for incremental topological ordering with levels in Bender,
// Fineman, Gilbert & Tarjan, "A new approach to incremental cycle detection and related problems",
// TALG'16.

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/egraph/egraph.h"

namespace quotient::egraph {

// Whether the e-node constrains the level of its class.
bool EGraph::IsOrdered(ENodeId id) const {
  const Row& row = rows_[id.value()];
  return !row.duplicate() && !row.on_cycle() && !classes_[Find(row.cls).value()].leaves_only();
}

template <typename Visit>
void EGraph::ForEachOrderedParent(ClassId id, const Visit& visit) const {
  ForEachUse(id, [&](ENodeId node, uint32_t /*position*/) {
    if (IsOrdered(node)) visit(class_of(node));
  });
}

uint32_t EGraph::LevelAbove(std::span<const ClassId> children) const {
  uint32_t level = 0;
  for (ClassId child : children) level = std::max(level, levels_[Find(child).value()].value + 1);
  return level;
}

// Raises a class to at least `level`, and the classes above it accordingly. If that reaches
// `forbidden`, changes nothing and returns false.
bool EGraph::Raise(ClassId id, uint32_t level, ClassId forbidden) {
  using Entry = std::pair<uint32_t, ClassId>;  // The old level, and the class.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  absl::flat_hash_map<ClassId, uint32_t> before;
  const auto raise = [&](ClassId cls, uint32_t to) {
    const uint32_t from = levels_[cls.value()].value;
    if (from >= to) return;
    if (before.try_emplace(cls, from).second) queue.emplace(from, cls);
    levels_.Write(cls.value(), {to});
  };
  raise(id, level);
  bool reached = false;
  while (!queue.empty() && !reached) {
    const ClassId risen = queue.top().second;
    queue.pop();
    ForEachOrderedParent(risen, [&](ClassId parent) {
      reached |= parent == forbidden;
      if (!reached) raise(parent, levels_[risen.value()].value + 1);
    });
  }
  if (!reached) return true;
  for (const auto& [cls, from] : before) levels_.Write(cls.value(), {from});
  return false;
}

// Marks the e-nodes of `above` through which it contains `below`.
void EGraph::MarkCycles(ClassId below, ClassId above) {
  const uint32_t limit = levels_[above.value()].value;
  absl::flat_hash_set<ClassId> between = {below};
  std::vector<ClassId> stack = {below};
  while (!stack.empty()) {
    const ClassId id = stack.back();
    stack.pop_back();
    ForEachOrderedParent(id, [&](ClassId parent) {
      if (levels_[parent.value()].value >= limit) return;
      if (between.insert(parent).second) stack.push_back(parent);
    });
  }
  ForEachMember(above, [&](ENodeId node) {
    const auto inside = [&](ClassId child) { return between.contains(Find(child)); };
    if (IsOrdered(node) && std::ranges::any_of(ChildrenOf(node), inside)) {
      SetHead(node, Row::kOnCycle);
    }
  });
}

// Called before a union of `a` and `b`: gives both the same level, unless that would close a cycle,
// which is then marked or refused.
absl::Status EGraph::KeepOrder(ClassId a, ClassId b) {
  ClassId low = a, high = b;
  if (levels_[low.value()].value > levels_[high.value()].value) std::swap(low, high);
  const uint32_t level = levels_[high.value()].value;
  if (Raise(low, level, high)) return absl::OkStatus();
  if (cycles_ == Cycles::kRefused) {
    return absl::FailedPreconditionError("e-graph: a class would contain itself");
  }
  MarkCycles(low, high);
  Raise(low, level, high);
  return absl::OkStatus();
}

}  // namespace quotient::egraph
