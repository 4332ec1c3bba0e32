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
  } while (!work_.absorbed.empty() || !work_.to_modify.empty());
  HidePruned();
  DropDuplicates();
  dirty_ = false;
  return absl::OkStatus();
}

absl::Status EGraph::RestoreCongruence() {
  while (!work_.absorbed.empty() || !work_.repair_queue.empty()) {
    for (const ClassId id : work_.absorbed) {
      const ClassRow& absorbed = store_.class_row(id);
      MoveMembers(absorbed);
      store_.ForEachUseBetween(absorbed.first_use, absorbed.last_use, [this](UseId use) {
        work_.repair_queue.push_back(store_.NodeOf(use));
      });
    }
    work_.absorbed.clear();
    QUOTIENT_RETURN_IF_ERROR(RepairNodes());
  }
  return absl::OkStatus();
}

void EGraph::MoveMembers(const ClassRow& absorbed) {
  if (!absorbed.first_member.valid()) return;
  for (ENodeId at = absorbed.first_member;; at = store_.row(at).next_member) {
    const Row& row = store_.row(at);
    const ClassId id = Find(row.cls);
    if (row.cls != id) {
      store_.SetClass(at, id);
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
    return IsWide(store_.row(node)) && !wide.insert(node).second;
  };
  for (size_t begin = 0; begin < work_.repair_queue.size(); begin += kBatch) {
    const size_t end = std::min(begin + kBatch, work_.repair_queue.size());
    for (size_t i = end; i < std::min(end + kBatch, work_.repair_queue.size()); ++i) {
      store_.PrefetchRowToWrite(work_.repair_queue[i]);
    }
    size_t stale = 0;
    for (size_t i = begin; i < end; ++i) {
      const ENodeId node = work_.repair_queue[i];
      if (repaired(node) || !Canonicalize(node)) continue;
      batch[stale] = {node, ContentHash(store_.row(node).op(), store_.children(node))};
      hash_cons_.Prefetch(batch[stale].hash);
      ++stale;
    }
    for (size_t i = 0; i < stale; ++i) {
      QUOTIENT_RETURN_IF_ERROR(Rekey(batch[i].node, batch[i].hash));
    }
  }
  work_.repair_queue.clear();
  return absl::OkStatus();
}

// Returns false if the e-node's key did not change.
bool EGraph::Canonicalize(ENodeId id) {
  if (store_.row(id).duplicate()) return false;
  const auto stale = [this](ClassId child) { return Find(child) != child; };
  if (std::ranges::none_of(store_.children(id), stale)) return false;
  store_.SetChildren(id, [this](ClassId child) { return Find(child); });
  hash_cons_.CountOutdated();
  MarkChanged(id);
  return true;
}

absl::Status EGraph::Rekey(ENodeId id, uint32_t hash) {
  const Row row = store_.row(id);
  if (row.duplicate()) return absl::OkStatus();
  bool is_there = false;  // True if the table was filled anew since the key changed.
  const ENodeId congruent = FindNode(hash, row.op(), store_.children(id), [&](ENodeId found) {
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
  const ENodeId duplicate = std::max(id, congruent);
  QUOTIENT_RETURN_IF_ERROR(Union(row.cls, store_.row(congruent).cls, kCongruence).status());
  if (store_.row(duplicate).live()) --num_enodes_;
  store_.MarkDuplicate(duplicate);
  CountDuplicate(duplicate);
  Touch(duplicate);
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
    QUOTIENT_RETURN_IF_ERROR(UpdateWideParentsOf(changed));
    work_.to_modify.insert(work_.to_modify.end(), changed.begin(), changed.end());
  }
  std::vector<ClassId> ids = std::exchange(work_.to_modify, {});
  MakeCanonical(ids);
  for (ClassId id : ids) QUOTIENT_RETURN_IF_ERROR(analysis_->Modify(*this, Find(id)));
  return absl::OkStatus();
}

void EGraph::MarkChangedAround(ClassId id) {
  const auto mark = [this](ENodeId node) {
    if (!store_.row(node).duplicate()) MarkChanged(node);
  };
  store_.ForEachMember(id, mark);
  store_.ForEachUse(id, [&mark](ENodeId node, uint32_t) { mark(node); });
}

// Updates the parents of a class; for an absorbed class, those that it brought. Skips wide e-nodes,
// which UpdateWideParentsOf updates once each.
absl::Status EGraph::UpdateParentsOf(ClassId id) {
  const ClassRow row = store_.class_row(id);
  absl::Status status;
  store_.ForEachUseBetween(row.first_use, row.last_use, [&](UseId use) {
    const ENodeId node = store_.NodeOf(use);
    const Row& parent = store_.row(node);
    if (parent.duplicate() || IsWide(parent) || !status.ok()) return;
    status = analysis_->Update(*this, node);
  });
  return status;
}

absl::Status EGraph::UpdateWideParentsOf(std::span<const ClassId> changed) {
  absl::flat_hash_set<ENodeId> seen;
  std::vector<ENodeId> parents;
  for (ClassId id : changed) {
    const ClassRow& row = store_.class_row(id);
    store_.ForEachUseBetween(row.first_use, row.last_use, [&](UseId use) {
      const ENodeId node = store_.NodeOf(use);
      if (!IsWide(store_.row(node)) || store_.row(node).duplicate()) return;
      if (seen.insert(node).second) parents.push_back(node);
    });
  }
  for (const ENodeId node : parents) QUOTIENT_RETURN_IF_ERROR(analysis_->Update(*this, node));
  return absl::OkStatus();
}

// Hides the e-nodes with children in classes that keep only leaves; they are no longer live.
void EGraph::HidePruned() {
  MakeCanonical(work_.to_prune);
  for (ClassId id : work_.to_prune) {
    store_.ForEachMember(id, [this](ENodeId node) {
      if (!live(node) || store_.children(node).empty()) return;
      store_.Hide(node);
      MarkChanged(node);
      --num_enodes_;
    });
    store_.NoteHidden(id);
  }
  work_.to_prune.clear();
}

void EGraph::CountDuplicate(ENodeId id) {
  const auto count = [this](ClassId of) {
    const ClassId root = Find(of);
    if (store_.CountDuplicate(root)) work_.to_thin_out.push_back(root);
  };
  count(store_.row(id).cls);
  for (const ClassId child : store_.children(id)) count(child);
}

// Removes duplicates from chains where they are more than half of all links ever made, because
// every walk along the chain would visit them in vain. The cost is amortized: it is no more than
// that of making the links.
void EGraph::DropDuplicates() {
  MakeCanonical(work_.to_thin_out);
  for (const ClassId id : work_.to_thin_out) store_.DropDuplicates(id);
  work_.to_thin_out.clear();
}

}  // namespace quotient::egraph
