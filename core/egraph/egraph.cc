// Adding, uniting and looking up e-nodes and classes. batched_add.cc adds many e-nodes at a time,
// rebuild.cc restores congruence, state.cc has marks and rollbacks.

#include "core/egraph/egraph.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "core/base/status_macros.h"
#include "core/egraph/hash.h"

namespace quotient::egraph {
namespace {

absl::Status NoRoom() { return absl::ResourceExhaustedError("e-graph: no ids left"); }

}  // namespace

EGraph::EGraph(const OpTable* table, Analysis* analysis)
    : table_(table),
      analysis_(analysis),
      store_(&trail_),
      origin_(&trail_),
      hash_cons_(&trail_),
      union_find_(&trail_),
      changes_(&trail_, &store_.rows()) {}

ENodeId EGraph::LookupNode(OpId op, std::span<const ClassId> children) const {
  absl::InlinedVector<ClassId, 8> canonical(children.begin(), children.end());
  for (ClassId& child : canonical) child = Find(child);
  return FindNode(ContentHash(op, canonical), op, canonical);
}

std::optional<ClassId> EGraph::Lookup(OpId op, std::span<const ClassId> children) const {
  const ENodeId found = LookupNode(op, children);
  if (!found.valid()) return std::nullopt;
  return class_of(found);
}

absl::StatusOr<ClassId> EGraph::Add(OpId op, std::span<const ClassId> children, Origin origin) {
  scratch_.assign(children.begin(), children.end());
  for (ClassId& child : scratch_) child = Find(child);
  const uint32_t hash = ContentHash(op, scratch_);
  const ENodeId found = FindNode(hash, op, scratch_);
  if (found.valid()) return class_of(found);
  return Insert(hash, op, scratch_, origin);
}

absl::StatusOr<bool> EGraph::AddTo(ClassId id, OpId op, std::span<const ClassId> children,
                                   Origin origin) {
  scratch_.assign(children.begin(), children.end());
  for (ClassId& child : scratch_) child = Find(child);
  const uint32_t hash = ContentHash(op, scratch_);
  const ENodeId found = FindNode(hash, op, scratch_);
  if (found.valid()) return Union(id, class_of(found), origin);
  return InsertTo(id, hash, op, scratch_, origin);
}

absl::StatusOr<bool> EGraph::InsertTo(ClassId id, uint32_t hash, OpId op,
                                      std::span<const ClassId> children, Origin origin) {
  if (analysis_ != nullptr || proofs_ != nullptr) {
    return InsertObserved(id, hash, op, children, origin);
  }
  if (!store_.HasRoom(op, children.size())) return NoRoom();
  InsertInto(id, hash, op, children, origin);
  return true;
}

absl::StatusOr<bool> EGraph::InsertObserved(ClassId id, uint32_t hash, OpId op,
                                            std::span<const ClassId> children, Origin origin) {
  const bool wants_class = analysis_ != nullptr && !analysis_->update_is_complete();
  if (wants_class || proofs_ != nullptr) {
    const absl::StatusOr<ClassId> fresh = Insert(hash, op, children, origin);
    if (!fresh.ok()) {
      VoidApplication(origin);
      return fresh.status();
    }
    QUOTIENT_RETURN_IF_ERROR(Union(id, *fresh, origin).status());
    return true;
  }
  if (!store_.HasRoom(op, children.size())) return NoRoom();
  const ENodeId node = InsertInto(id, hash, op, children, origin);
  QUOTIENT_RETURN_IF_ERROR(analysis_->Update(*this, node));
  return true;
}

// Adds the e-node to an existing class instead of giving it a class of its own.
inline ENodeId EGraph::InsertInto(ClassId id, uint32_t hash, OpId op,
                                  std::span<const ClassId> children, Origin origin) {
  const ClassId root = Find(id);
  const ENodeId node = InsertNode(hash, op, children, root, origin);
  if (store_.class_row(root).leaves_only()) work_.to_prune.push_back(root);
  return node;
}

absl::StatusOr<ClassId> EGraph::Insert(uint32_t hash, OpId op, std::span<const ClassId> children,
                                       Origin origin) {
  if (!store_.HasRoom(op, children.size())) return NoRoom();
  if (analysis_ != nullptr) {
    const ClassId fresh(union_find_.size());
    QUOTIENT_RETURN_IF_ERROR(analysis_->Make(*this, op, children, fresh));
    work_.to_modify.push_back(fresh);
  }
  const ClassId fresh = MakeClass();
  InsertNode(hash, op, children, fresh, origin);
  return fresh;
}

ClassId EGraph::MakeClass() {
  store_.AddClass();
  ++num_classes_;
  return union_find_.MakeSet();
}

ENodeId EGraph::InsertNode(uint32_t hash, OpId op, std::span<const ClassId> children, ClassId id,
                           Origin origin) {
  if (hash_cons_.full()) MakeRoomInHashCons();
  const ENodeId node = store_.Add(op, children, id, KindOf(op), changes_.epoch());
  if (proofs_ != nullptr) proofs_->AddBirth(children);
  origin_.push_back({origin});
  hash_cons_.Insert(hash, node);
  Touch(node);
  ++num_enodes_;
  dirty_ = true;
  return node;
}

KindId EGraph::RememberKind(OpId op) {
  if (op.value() >= kind_of_op_.size()) kind_of_op_.resize(op.value() + 1);
  return kind_of_op_[op.value()] = table_->Kind(op);
}

void EGraph::ExpectNodes(size_t count) {
  if (trail_.active()) return;  // Moving entries would be logged.
  const size_t wanted = std::min<size_t>(store_.num_nodes() + count, Row::kMaxRows);
  hash_cons_.Grow(static_cast<uint32_t>(wanted));
}

// Returns true if the table was filled anew from the current rows.
bool EGraph::MakeRoomInHashCons() {
  if (!hash_cons_.worth_cleaning()) {
    hash_cons_.Grow(hash_cons_.used() + 1);
    return false;
  }
  const std::span<const Row> rows = store_.rows().span();
  const auto duplicate = [](const Row& row) { return row.duplicate(); };
  const size_t entries = rows.size() - std::ranges::count_if(rows, duplicate);
  hash_cons_.Clean(static_cast<uint32_t>(entries));
  // Works in batches, so that several cache misses overlap.
  constexpr uint32_t kBatch = 16;
  uint32_t hashes[kBatch];
  for (uint32_t begin = 0; begin < rows.size(); begin += kBatch) {
    const uint32_t end = std::min(begin + kBatch, store_.num_nodes());
    for (uint32_t i = begin; i < end; ++i) {
      hashes[i - begin] = ContentHash(rows[i].op(), store_.children(ENodeId(i)));
      hash_cons_.Prefetch(hashes[i - begin]);
    }
    for (uint32_t i = begin; i < end; ++i) {
      if (!rows[i].duplicate()) hash_cons_.Insert(hashes[i - begin], ENodeId(i));
    }
  }
  return true;
}

void EGraph::MarkChanged(ENodeId id) {
  Touch(id);
  if (store_.row(id).changed_at == changes_.epoch()) return;
  store_.SetChangedAt(id, changes_.epoch());
  changes_.Add(id);
}

absl::StatusOr<bool> EGraph::Union(ClassId a, ClassId b, Origin origin) {
  ClassId kept = Find(a);
  ClassId absorbed = Find(b);
  if (kept == absorbed) return false;
  // The class with more links stays, because the other one's must be touched; on a tie, the older.
  const auto weight = [this](ClassId id) { return store_.class_row(id).weight(); };
  if (weight(kept) < weight(absorbed) || (weight(kept) == weight(absorbed) && absorbed < kept)) {
    std::swap(kept, absorbed);
  }
  if (analysis_ != nullptr) {
    if (absl::Status status = analysis_->Merge(*this, kept, absorbed); !status.ok()) {
      refused_union_ = UnionRecord{a, b, origin};
      VoidApplication(origin);
      return status;
    }
    work_.to_modify.push_back(kept);
  }
  if (state_hash_ != nullptr) state_hash_->Unite(*this, kept, absorbed);
  union_find_.Absorb(kept, absorbed);
  if (proofs_ != nullptr) proofs_->AddUnion({a, b, origin});
  --num_classes_;
  store_.Join(kept, absorbed);
  if (store_.class_row(kept).leaves_only()) work_.to_prune.push_back(kept);
  work_.absorbed.push_back(absorbed);
  dirty_ = true;
  return true;
}

void EGraph::PruneToLeaves(ClassId id) {
  const ClassId root = Find(id);
  if (store_.class_row(root).leaves_only()) return;
  store_.SetLeavesOnly(root);
  work_.to_prune.push_back(root);
  dirty_ = true;
}

}  // namespace quotient::egraph
