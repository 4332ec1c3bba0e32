// Deferred congruence closure. A union only links the chains of the two classes. Rebuild then moves
// the absorbed class's e-nodes to their new class, re-keys its parents in the hash-cons, finds
// which of them became congruent, unites their classes, and repeats. A union keeps the class with
// more members and uses, so an e-node is touched at most log(n) times per child and for its class.
// E-nodes are re-keyed in batches so that their cache misses overlap.

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/base/status_macros.h"
#include "core/egraph/egraph.h"
#include "core/egraph/hash.h"

namespace quotient::egraph {
namespace {

constexpr size_t kBatch = 16;

// Whether an e-node has so many children that scanning them again costs more than remembering that
// it has been handled. Such an e-node comes up once for each child that changed.
bool IsWide(const Row& row) {
  constexpr uint32_t kWide = 32;
  return row.listed() && row.child[1].value() > kWide;
}

}  // namespace

absl::Status EGraph::Rebuild() {
  if (!dirty_) return absl::OkStatus();
  do {
    QUOTIENT_RETURN_IF_ERROR(RestoreCongruence());
    if (analysis_ != nullptr) QUOTIENT_RETURN_IF_ERROR(RunAnalysis());
  } while (!to_repair_.empty() || !to_modify_.empty());
  HidePruned();
  DropDuplicates();
  dirty_ = false;
  return absl::OkStatus();
}

absl::Status EGraph::RestoreCongruence() {
  while (!to_repair_.empty() || !repair_queue_.empty()) {
    for (const ClassId id : to_repair_) {
      const ClassRow& absorbed = classes_[id.value()];
      MoveMembers(absorbed);
      ForEachUseBetween(absorbed.first_use, absorbed.last_use,
                        [this](UseId use) { repair_queue_.push_back(NodeOf(use)); });
    }
    to_repair_.clear();
    QUOTIENT_RETURN_IF_ERROR(RepairNodes());
  }
  return absl::OkStatus();
}

void EGraph::MoveMembers(const ClassRow& absorbed) {
  if (!absorbed.first_member.valid()) return;
  for (ENodeId at = absorbed.first_member;; at = rows_[at.value()].next_member) {
    const Row& row = rows_[at.value()];
    const ClassId id = Find(row.cls);
    if (row.cls != id) {
      rows_.Write(at.value(), &Row::cls, id);
      if (!row.duplicate()) MarkChanged(at);
    }
    if (at == absorbed.last_member) return;
  }
}

absl::Status EGraph::RepairNodes() {
  struct Stale {
    ENodeId node;
    uint32_t hash;
  };
  Stale batch[kBatch];
  absl::flat_hash_set<ENodeId> wide;
  const auto repaired = [&](ENodeId node) {
    return IsWide(rows_[node.value()]) && !wide.insert(node).second;
  };
  for (size_t begin = 0; begin < repair_queue_.size(); begin += kBatch) {
    const size_t end = std::min(begin + kBatch, repair_queue_.size());
    for (size_t i = end; i < std::min(end + kBatch, repair_queue_.size()); ++i) {
      __builtin_prefetch(&rows_[repair_queue_[i].value()], 1);
    }
    size_t stale = 0;
    for (size_t i = begin; i < end; ++i) {
      const ENodeId node = repair_queue_[i];
      if (repaired(node) || !Canonicalize(node)) continue;
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

// Returns false if the e-node's key did not change.
bool EGraph::Canonicalize(ENodeId id) {
  const Row& row = rows_[id.value()];
  if (row.duplicate()) return false;
  const auto stale = [this](ClassId child) { return Find(child) != child; };
  const std::span<const ClassId> children = ChildrenOf(id);
  if (std::ranges::none_of(children, stale)) return false;
  if (!row.listed()) {
    for (uint32_t i = 0; i < row.arity(); ++i) {
      rows_.Write(id.value(), &Row::child, i, Find(row.child[i]));
    }
  } else {
    for (size_t i = 0; i < children.size(); ++i) {
      list_children_.Write(row.child[0].value() + i, Find(children[i]));
    }
  }
  hash_cons_.CountOutdated();
  MarkChanged(id);
  return true;
}

absl::Status EGraph::Rekey(ENodeId id, uint32_t hash) {
  const Row row = rows_[id.value()];
  if (row.duplicate()) return absl::OkStatus();
  bool is_there = false;  // True if the table was filled anew since the key changed.
  const ENodeId congruent = FindNode(hash, row.op(), ChildrenOf(id), [&](ENodeId found) {
    is_there |= found == id;
    return found != id;
  });
  if (!congruent.valid()) {
    if (is_there) return absl::OkStatus();
    const bool taken_in = hash_cons_.full() && MakeRoomInHashCons();
    if (!taken_in) hash_cons_.Insert(hash, id);
    return absl::OkStatus();
  }
  // The older e-node stays, which keeps its origin and the order of creation.
  if (id < congruent) hash_cons_.Replace(hash, congruent, id);
  const auto [oldest, duplicate] = std::minmax(id, congruent);
  QUOTIENT_RETURN_IF_ERROR(Union(row.cls, rows_[congruent.value()].cls, kCongruence).status());
  if (rows_[duplicate.value()].live()) --num_enodes_;
  SetHead(duplicate, Row::kDuplicate);
  CountDuplicate(duplicate);
  Touch(duplicate);
  // If one of two congruent e-nodes closes no cycle, neither does the other.
  if (!rows_[duplicate.value()].on_cycle()) ClearHead(oldest, Row::kOnCycle);
  return absl::OkStatus();
}

void EGraph::MakeCanonical(std::vector<ClassId>& ids) const {
  for (ClassId& id : ids) id = Find(id);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

absl::Status EGraph::RunAnalysis() {
  for (std::vector<ClassId> changed = analysis_->TakeChanged(); !changed.empty();
       changed = analysis_->TakeChanged()) {
    std::ranges::sort(changed);
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (ClassId id : changed) {
      // The e-nodes of an absorbed class have been marked as changed when they were moved or
      // re-keyed.
      if (Find(id) == id) MarkChangedAround(id);
      QUOTIENT_RETURN_IF_ERROR(UpdateParentsOf(id));
    }
    absl::flat_hash_set<ENodeId> wide;
    std::vector<ENodeId> wide_parents;
    for (ClassId id : changed) {
      const ClassRow& row = classes_[id.value()];
      ForEachUseBetween(row.first_use, row.last_use, [&](UseId use) {
        const ENodeId node = NodeOf(use);
        if (!IsWide(rows_[node.value()]) || rows_[node.value()].duplicate()) return;
        if (wide.insert(node).second) wide_parents.push_back(node);
      });
    }
    for (const ENodeId node : wide_parents) {
      QUOTIENT_RETURN_IF_ERROR(analysis_->Update(*this, node));
    }
    to_modify_.insert(to_modify_.end(), changed.begin(), changed.end());
  }
  std::vector<ClassId> ids = std::exchange(to_modify_, {});
  MakeCanonical(ids);
  for (ClassId id : ids) QUOTIENT_RETURN_IF_ERROR(analysis_->Modify(*this, Find(id)));
  return absl::OkStatus();
}

void EGraph::MarkChangedAround(ClassId id) {
  const auto mark = [this](ENodeId node) {
    if (!rows_[node.value()].duplicate()) MarkChanged(node);
  };
  ForEachMember(id, mark);
  ForEachUse(id, [&mark](ENodeId node, uint32_t) { mark(node); });
}

// Updates the parents of a class; for an absorbed class, those that it brought. Skips wide e-nodes,
// which RunAnalysis updates once each.
absl::Status EGraph::UpdateParentsOf(ClassId id) {
  const ClassRow row = classes_[id.value()];
  absl::Status status;
  ForEachUseBetween(row.first_use, row.last_use, [&](UseId use) {
    const ENodeId node = NodeOf(use);
    const Row& parent = rows_[node.value()];
    if (parent.duplicate() || IsWide(parent) || !status.ok()) return;
    status = analysis_->Update(*this, node);
  });
  return status;
}

// Hides the e-nodes with children in classes that keep only leaves; they are no longer live.
void EGraph::HidePruned() {
  MakeCanonical(to_prune_);
  for (ClassId id : to_prune_) {
    ForEachMember(id, [this](ENodeId node) {
      if (!live(node) || ChildrenOf(node).empty()) return;
      SetHead(node, Row::kHidden);
      MarkChanged(node);
      --num_enodes_;
    });
    classes_.Write(id.value(), &ClassRow::member_kinds, ClassRow::kLeafBit);
  }
  to_prune_.clear();
}

void EGraph::CountDuplicate(ENodeId id) {
  constexpr uint32_t kWorthIt = 8;
  const auto count = [this](ClassId of) {
    const ClassId root = Find(of);
    const ClassRow& row = classes_[root.value()];
    classes_.Write(root.value(), &ClassRow::duplicates, row.duplicates + 1);
    if (row.duplicates >= kWorthIt && row.duplicates > row.weight() / 2) {
      to_thin_out_.push_back(root);
    }
  };
  count(rows_[id.value()].cls);
  for (const ClassId child : ChildrenOf(id)) count(child);
}

// Removes duplicates from chains where they are more than half of all links ever made, because
// every walk along the chain would visit them in vain. The cost is amortized: it is no more than
// that of making the links.
void EGraph::DropDuplicates() {
  MakeCanonical(to_thin_out_);
  for (const ClassId id : to_thin_out_) DropDuplicatesOf(id);
  to_thin_out_.clear();
}

void EGraph::DropDuplicatesOf(ClassId id) {
  ClassRow row = classes_[id.value()];
  ENodeId last_member;
  for (ENodeId at = row.first_member; at.valid(); at = rows_[at.value()].next_member) {
    if (rows_[at.value()].duplicate()) continue;
    if (last_member.valid()) {
      rows_.Write(last_member.value(), &Row::next_member, at);
    } else {
      row.first_member = at;
    }
    last_member = at;
  }
  row.last_member = last_member;
  if (last_member.valid()) rows_.Write(last_member.value(), &Row::next_member, ENodeId());
  UseId last_use;
  const UseId first_use = std::exchange(row.first_use, UseId());
  for (UseId at = first_use; at.valid(); at = NextUse(at)) {
    if (rows_[NodeOf(at).value()].duplicate()) continue;
    if (last_use.valid()) {
      SetNextUse(last_use, at);
    } else {
      row.first_use = at;
    }
    last_use = at;
  }
  row.last_use = last_use;
  if (last_use.valid()) SetNextUse(last_use, UseId());
  row.duplicates = 0;
  classes_.Write(id.value(), row);
}

}  // namespace quotient::egraph
