// Classes, e-nodes and deferred congruence. A union only links the classes and remembers the
// parents of the absorbed one; Rebuild re-keys those parents, finds which became congruent, unites
// their classes, and so on. Keeping the class with more parents bounds that work: an e-node is
// re-keyed at most log(n) times for each child.

#include "core/egraph/egraph.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "core/base/status_macros.h"

namespace quotient::egraph {
namespace {

uint32_t HashOf(OpId op, std::span<const ClassId> children) {
  uint64_t hash = op.value() * 0x9e3779b97f4a7c15u;
  for (ClassId child : children) {
    hash = (hash ^ child.value()) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 29;
  }
  return static_cast<uint32_t>((hash * 0x94d049bb133111ebu) >> 32);
}

// Whether children[i] did not occur before i.
bool FirstOccurrence(std::span<const ClassId> children, size_t i) {
  for (size_t j = 0; j < i; ++j) {
    if (children[j] == children[i]) return false;
  }
  return true;
}

}  // namespace

EGraph::EGraph(const OpTable* table, Analysis* analysis)
    : table_(table), analysis_(analysis), child_begin_(1, 0) {}

ENodeId EGraph::FindNode(uint32_t hash, OpId op, std::span<const ClassId> children) const {
  return hash_cons_.Find(hash, [&](ENodeId candidate) {
    return op_[candidate.value()] == op && std::ranges::equal(ChildrenOf(candidate), children);
  });
}

std::optional<ClassId> EGraph::Lookup(OpId op, std::span<const ClassId> children) const {
  absl::InlinedVector<ClassId, 8> canonical(children.begin(), children.end());
  for (ClassId& child : canonical) child = Find(child);
  const ENodeId found = FindNode(HashOf(op, canonical), op, canonical);
  if (!found.valid()) return std::nullopt;
  return class_of(found);
}

absl::StatusOr<ClassId> EGraph::Add(OpId op, std::span<const ClassId> children, Origin origin) {
  scratch_.assign(children.begin(), children.end());
  for (ClassId& child : scratch_) child = Find(child);
  const uint32_t hash = HashOf(op, scratch_);
  const ENodeId found = FindNode(hash, op, scratch_);
  if (found.valid()) return class_of(found);
  return Insert(hash, op, scratch_, origin);
}

absl::StatusOr<ClassId> EGraph::Insert(uint32_t hash, OpId op, std::span<const ClassId> children,
                                       Origin origin) {
  // One below the largest value: that one is the invalid id and the end of chains. An e-node has
  // at most as many parent links as children, and there are no more classes than e-nodes.
  constexpr size_t kMaxIds = std::numeric_limits<uint32_t>::max() - 1;
  if (op_.size() >= kMaxIds || children_.size() + children.size() >= kMaxIds) {
    return absl::ResourceExhaustedError("e-graph: no ids left");
  }
  const ClassId fresh(union_find_.size());
  if (analysis_ != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(analysis_->Make(*this, op, children, fresh));
  }
  union_find_.MakeSet();
  parents_.emplace_back();
  leaves_only_.push_back(false);

  const ENodeId node(enode_bound());
  op_.push_back(op);
  class_.push_back(fresh);
  origin_.push_back(origin);
  duplicate_.push_back(false);
  children_.insert(children_.end(), children.begin(), children.end());
  child_begin_.push_back(static_cast<uint32_t>(children_.size()));
  for (size_t i = 0; i < children.size(); ++i) {
    if (FirstOccurrence(children, i)) AddParent(children[i], node);
  }
  hash_cons_.Insert(hash, node);
  if (analysis_ != nullptr) to_modify_.push_back(fresh);
  dirty_ = true;
  return fresh;
}

void EGraph::AddParent(ClassId child, ENodeId node) {
  const uint32_t link = static_cast<uint32_t>(parent_links_.size());
  parent_links_.push_back({node, kNoLink});
  ParentChain& chain = parents_[child.value()];
  if (chain.size == 0) {
    chain.head = link;
  } else {
    parent_links_[chain.tail].next = link;
  }
  chain.tail = link;
  ++chain.size;
}

absl::StatusOr<bool> EGraph::Union(ClassId a, ClassId b, Origin origin) {
  ClassId kept = Find(a);
  ClassId absorbed = Find(b);
  if (kept == absorbed) return false;
  // More parents win, then age: the smaller id.
  const auto weight = [this](ClassId id) { return parents_[id.value()].size; };
  if (weight(kept) < weight(absorbed) || (weight(kept) == weight(absorbed) && absorbed < kept)) {
    std::swap(kept, absorbed);
  }
  if (analysis_ != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(analysis_->Merge(*this, kept, absorbed));
    to_modify_.push_back(kept);
  }
  union_find_.Absorb(kept, absorbed);
  unions_.push_back({a, b, origin});
  if (leaves_only_[absorbed.value()]) leaves_only_[kept.value()] = true;
  const ParentChain moved = std::exchange(parents_[absorbed.value()], ParentChain());
  if (moved.size != 0) {
    ParentChain& chain = parents_[kept.value()];  // not empty: it has at least as many
    parent_links_[chain.tail].next = moved.head;
    chain.tail = moved.tail;
    chain.size += moved.size;
    to_repair_.push_back(moved);
  }
  dirty_ = true;
  return true;
}

void EGraph::PruneToLeaves(ClassId id) {
  leaves_only_[Find(id).value()] = true;
  dirty_ = true;
}

absl::Status EGraph::Rebuild() {
  if (!dirty_) return absl::OkStatus();
  while (!to_repair_.empty() || !to_modify_.empty()) {
    QUOTIENT_RETURN_IF_ERROR(RestoreCongruence());
    if (analysis_ != nullptr) QUOTIENT_RETURN_IF_ERROR(RunAnalysis());
  }
  union_find_.Flatten();
  for (ClassId& id : class_) id = Find(id);
  BuildIndex();
  dirty_ = false;
  return absl::OkStatus();
}

absl::Status EGraph::RestoreCongruence() {
  while (!to_repair_.empty()) {
    const ParentChain chain = to_repair_.back();
    to_repair_.pop_back();
    // The chain may have been continued since by another; its own part ends at its tail.
    for (uint32_t link = chain.head;; link = parent_links_[link].next) {
      QUOTIENT_RETURN_IF_ERROR(RepairNode(parent_links_[link].node));
      if (link == chain.tail) break;
    }
  }
  return absl::OkStatus();
}

absl::Status EGraph::RepairNode(ENodeId id) {
  if (duplicate_[id.value()]) return absl::OkStatus();
  const auto stale = [this](ClassId child) { return Find(child) != child; };
  const std::span<const ClassId> children = ChildrenOf(id);
  if (std::ranges::none_of(children, stale)) return absl::OkStatus();

  const OpId op = op_[id.value()];
  hash_cons_.Erase(HashOf(op, children), id);
  const uint32_t begin = child_begin_[id.value()];
  for (size_t i = 0; i < children.size(); ++i) children_[begin + i] = Find(children[i]);

  const uint32_t hash = HashOf(op, children);
  const ENodeId congruent = FindNode(hash, op, children);
  if (!congruent.valid()) {
    hash_cons_.Insert(hash, id);
    return absl::OkStatus();
  }
  // The older one stays: it keeps its origin, and order of creation stays what it was.
  if (id < congruent) hash_cons_.Replace(hash, congruent, id);
  duplicate_[std::max(id, congruent).value()] = true;
  return Union(class_[id.value()], class_[congruent.value()], kCongruence).status();
}

void EGraph::MakeCanonical(std::vector<ClassId>& ids) const {
  for (ClassId& id : ids) id = Find(id);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

absl::Status EGraph::RunAnalysis() {
  for (std::vector<ClassId> changed = analysis_->TakeChanged(); !changed.empty();
       changed = analysis_->TakeChanged()) {
    MakeCanonical(changed);
    for (ClassId id : changed) QUOTIENT_RETURN_IF_ERROR(UpdateParentsOf(id));
    to_modify_.insert(to_modify_.end(), changed.begin(), changed.end());
  }
  std::vector<ClassId> ids = std::exchange(to_modify_, {});
  MakeCanonical(ids);
  for (ClassId id : ids) QUOTIENT_RETURN_IF_ERROR(analysis_->Modify(*this, Find(id)));
  return absl::OkStatus();
}

absl::Status EGraph::UpdateParentsOf(ClassId id) {
  for (uint32_t link = parents_[id.value()].head; link != kNoLink;
       link = parent_links_[link].next) {
    const ENodeId node = parent_links_[link].node;
    if (duplicate_[node.value()]) continue;
    QUOTIENT_RETURN_IF_ERROR(analysis_->Update(*this, node));
  }
  return absl::OkStatus();
}

void EGraph::BuildIndex() {
  classes_.clear();
  for (uint32_t i = 0; i < class_bound(); ++i) {
    if (Find(ClassId(i)) == ClassId(i)) classes_.push_back(ClassId(i));
  }
  uint32_t num_kinds = 0;
  for (uint32_t i = 0; i < enode_bound(); ++i) {
    const uint32_t op = op_[i].value();
    if (op >= kind_of_op_.size()) kind_of_op_.resize(op + 1);
    if (!kind_of_op_[op].valid()) kind_of_op_[op] = table_->Kind(op_[i]);
    num_kinds = std::max(num_kinds, kind_of_op_[op].value() + 1);
  }
  // The lists are filled in two passes over the same pairs.
  const auto for_each_pair = [this](const auto& of_class, const auto& of_kind,
                                    const auto& of_child) {
    for (uint32_t i = 0; i < enode_bound(); ++i) {
      if (!live(i)) continue;
      of_class(class_[i].value(), ENodeId(i));
      of_kind(kind_of_op_[op_[i].value()].value(), ENodeId(i));
      const std::span<const ClassId> children = ChildrenOf(ENodeId(i));
      for (size_t j = 0; j < children.size(); ++j) {
        if (FirstOccurrence(children, j)) of_child(children[j].value(), ENodeId(i));
      }
    }
  };
  nodes_of_class_ = GroupedList<ENodeId>(class_bound());
  parents_of_class_ = GroupedList<ENodeId>(class_bound());
  nodes_of_kind_ = GroupedList<ENodeId>(num_kinds);
  num_enodes_ = 0;
  for_each_pair([this](uint32_t key, ENodeId) { nodes_of_class_.Count(key), ++num_enodes_; },
                [this](uint32_t key, ENodeId) { nodes_of_kind_.Count(key); },
                [this](uint32_t key, ENodeId) { parents_of_class_.Count(key); });
  nodes_of_class_.Allocate();
  nodes_of_kind_.Allocate();
  parents_of_class_.Allocate();
  for_each_pair([this](uint32_t key, ENodeId id) { nodes_of_class_.Append(key, id); },
                [this](uint32_t key, ENodeId id) { nodes_of_kind_.Append(key, id); },
                [this](uint32_t key, ENodeId id) { parents_of_class_.Append(key, id); });
}

}  // namespace quotient::egraph
