// Deferred congruence. A union only links the classes and remembers what the absorbed one brought;
// Rebuild moves its e-nodes to their new class and re-keys its parents, finds which became
// congruent, unites their classes, and so on. The class with more of both is kept, so an e-node is
// touched at most log(n) times for each column. E-nodes are re-keyed in batches: the cache misses
// of one batch are under way together.

#include <algorithm>
#include <utility>

#include "core/base/status_macros.h"
#include "core/egraph/egraph.h"
#include "core/egraph/hash.h"

namespace quotient::egraph {
namespace {

constexpr size_t kBatch = 16;

size_t NumDistinct(std::span<const ClassId> ids) {
  size_t count = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto before = ids.first(i);
    if (std::ranges::find(before, ids[i]) == before.end()) ++count;
  }
  return count;
}

}  // namespace

absl::Status EGraph::Rebuild() {
  if (!dirty_) return absl::OkStatus();
  IndexNewNodes();
  while (!to_repair_.empty() || !repair_queue_.empty() || !to_modify_.empty()) {
    QUOTIENT_RETURN_IF_ERROR(RestoreCongruence());
    if (analysis_ != nullptr) QUOTIENT_RETURN_IF_ERROR(RunAnalysis());
  }
  HidePruned();
  dirty_ = false;
  return absl::OkStatus();
}

absl::Status EGraph::RestoreCongruence() {
  IndexNewNodes();
  while (!to_repair_.empty() || !repair_queue_.empty()) {
    for (const Absorbed& absorbed : to_repair_) {
      MoveMembers(absorbed.members);
      lists_.ForEach(absorbed.parents, [this](uint32_t entry) {
        if (entry != ParentEntry::kRemoved) repair_queue_.push_back(ParentEntry::Node(entry));
      });
    }
    to_repair_.clear();
    QUOTIENT_RETURN_IF_ERROR(RepairNodes());
  }
  return absl::OkStatus();
}

void EGraph::MoveMembers(EntryLists::List members) {
  lists_.ForEach(members, [this](uint32_t entry) {
    const ENodeId node(entry);
    const ClassId id = Find(rows_[entry].cls);
    if (rows_[entry].cls == id) return;
    rows_.Write(entry, &Row::cls, id);
    if (!rows_[entry].duplicate()) MarkChanged(node);
  });
}

absl::Status EGraph::RepairNodes() {
  struct Stale {
    ENodeId node;
    uint32_t hash;
  };
  Stale batch[kBatch];
  for (size_t begin = 0; begin < repair_queue_.size(); begin += kBatch) {
    const size_t end = std::min(begin + kBatch, repair_queue_.size());
    for (size_t i = end; i < std::min(end + kBatch, repair_queue_.size()); ++i) {
      __builtin_prefetch(&rows_[repair_queue_[i].value()], 1);
    }
    size_t stale = 0;
    for (size_t i = begin; i < end; ++i) {
      const ENodeId node = repair_queue_[i];
      if (!Canonicalize(node)) continue;
      batch[stale] = {node, HashOf(rows_[node.value()].op(), ChildrenOf(node))};
      hash_cons_.Prefetch(batch[stale].hash);
      ++stale;
    }
    for (size_t i = 0; i < stale; ++i) {
      QUOTIENT_RETURN_IF_ERROR(Rekey(batch[i].node, batch[i].hash));
    }
  }
  repair_queue_.clear();
  return absl::OkStatus();
}

// False if the e-node needs no new key.
bool EGraph::Canonicalize(ENodeId id) {
  const Row& row = rows_[id.value()];
  if (row.duplicate()) return false;
  const auto stale = [this](ClassId child) { return Find(child) != child; };
  const std::span<const ClassId> children = ChildrenOf(id);
  if (std::ranges::none_of(children, stale)) return false;
  if (!row.listed()) {
    ClassId canonical[2] = {row.child[0], row.child[1]};
    for (uint32_t i = 0; i < row.arity(); ++i) canonical[i] = Find(canonical[i]);
    rows_.Write(id.value(), Row{row.head, row.cls, {canonical[0], canonical[1]}});
  } else {
    const size_t before = children.size() > ParentEntry::kLast
                              ? NumDistinct(children.subspan(ParentEntry::kLast))
                              : 0;
    for (size_t i = 0; i < children.size(); ++i) {
      list_children_.Write(row.child[0].value() + i, Find(children[i]));
    }
    if (before != 0 && NumDistinct(children.subspan(ParentEntry::kLast)) != before) {
      DropRepeatedEntries(id);
    }
  }
  MarkChanged(id);
  return true;
}

// Two classes at late positions of the e-node became one, whose parents now hold it twice.
void EGraph::DropRepeatedEntries(ENodeId id) {
  const std::span<const ClassId> late = ChildrenOf(id).subspan(ParentEntry::kLast);
  const uint32_t entry = ParentEntry::Pack(id, ParentEntry::kLast);
  for (size_t i = 0; i < late.size(); ++i) {
    bool seen = false;
    const EntryLists::List parents = classes_[late[i].value()].parents;
    for (uint32_t slot = lists_.FirstSlot(parents); slot != EntryLists::kNone;
         slot = lists_.NextSlot(slot + 1)) {
      if (lists_.entry(slot) != entry) continue;
      if (seen) lists_.Replace(slot, ParentEntry::kRemoved);
      seen = true;
    }
  }
}

absl::Status EGraph::Rekey(ENodeId id, uint32_t hash) {
  const Row row = rows_[id.value()];
  if (row.duplicate()) return absl::OkStatus();
  const auto congruent_to = [&] { return FindNode(hash, row.op(), ChildrenOf(id)); };
  ENodeId congruent = congruent_to();
  if (!congruent.valid()) {
    if (!hash_cons_.full()) {
      hash_cons_.Insert(hash, id);
      return absl::OkStatus();
    }
    Rehash();  // takes in this one, too
    congruent = congruent_to();
  }
  if (congruent == id) return absl::OkStatus();
  // The older one stays: it keeps its origin, and order of creation stays what it was.
  if (id < congruent) hash_cons_.Replace(hash, congruent, id);
  const ENodeId duplicate = std::max(id, congruent);
  if (rows_[duplicate.value()].live()) --num_enodes_;
  SetHead(duplicate, Row::kDuplicate);
  return Union(row.cls, rows_[congruent.value()].cls, kCongruence).status();
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
  const EntryLists::List parents = classes_[id.value()].parents;
  for (uint32_t slot = lists_.FirstSlot(parents); slot != EntryLists::kNone;
       slot = lists_.NextSlot(slot + 1)) {
    const uint32_t entry = lists_.entry(slot);
    if (entry == ParentEntry::kRemoved) continue;
    const ENodeId node = ParentEntry::Node(entry);
    if (rows_[node.value()].duplicate()) continue;
    QUOTIENT_RETURN_IF_ERROR(analysis_->Update(*this, node));
  }
  return absl::OkStatus();
}

// E-nodes with children in classes that keep leaves only are no longer live.
void EGraph::HidePruned() {
  MakeCanonical(to_prune_);
  for (ClassId id : to_prune_) {
    lists_.ForEach(classes_[id.value()].members, [this](uint32_t entry) {
      const ENodeId node(entry);
      if (!live(node) || ChildrenOf(node).empty()) return;
      SetHead(node, Row::kHidden);
      --num_enodes_;
    });
  }
  to_prune_.clear();
}

}  // namespace quotient::egraph
