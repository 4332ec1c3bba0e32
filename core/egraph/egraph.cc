// Adding, uniting and looking up e-nodes and classes. batched_add.cc adds many e-nodes at a time,
// rebuild.cc restores congruence, state.cc saves and restores the state as a whole.

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
      rows_(&trail_),
      origin_(&trail_),
      list_children_(&trail_),
      list_uses_(&trail_),
      hash_cons_(&trail_),
      union_find_(&trail_),
      classes_(&trail_),
      unions_(&trail_),
      changes_(&trail_, &rows_),
      born_children_(&trail_),
      applications_(&trail_),
      levels_(&trail_) {}

ENodeId EGraph::LookupNode(OpId op, std::span<const ClassId> children) const {
  absl::InlinedVector<ClassId, 8> canonical(children.begin(), children.end());
  for (ClassId& child : canonical) child = Find(child);
  return FindNode(HashOf(op, canonical), op, canonical);
}

std::optional<ClassId> EGraph::Lookup(OpId op, std::span<const ClassId> children) const {
  const ENodeId found = LookupNode(op, children);
  if (!found.valid()) return std::nullopt;
  return class_of(found);
}

void EGraph::PrefetchHeads(ENodeId id) const {
  __builtin_prefetch(&classes_[rows_[id.value()].cls.value()]);
  for (ClassId child : ChildrenOf(id)) __builtin_prefetch(&classes_[child.value()]);
}

void EGraph::PrefetchFirst(ENodeId id) const {
  const UseId use = classes_[rows_[id.value()].cls.value()].first_use;
  if (use.valid() && !use.listed()) __builtin_prefetch(&rows_[use.node().value()]);
  for (ClassId child : ChildrenOf(id)) {
    __builtin_prefetch(&rows_[classes_[child.value()].first_member.value()]);
  }
}

void EGraph::PrefetchSecond(ENodeId id) const {
  const UseId first = classes_[rows_[id.value()].cls.value()].first_use;
  if (first.valid() && !first.listed()) {
    const UseId second = NextUse(first);
    if (second.valid() && !second.listed()) __builtin_prefetch(&rows_[second.node().value()]);
  }
  for (ClassId child : ChildrenOf(id)) {
    const ENodeId member = rows_[classes_[child.value()].first_member.value()].next_member;
    if (member.valid()) __builtin_prefetch(&rows_[member.value()]);
  }
}

absl::StatusOr<ClassId> EGraph::Add(OpId op, std::span<const ClassId> children, Origin origin) {
  scratch_.assign(children.begin(), children.end());
  for (ClassId& child : scratch_) child = Find(child);
  const uint32_t hash = HashOf(op, scratch_);
  const ENodeId found = FindNode(hash, op, scratch_);
  if (found.valid()) return class_of(found);
  return Insert(hash, op, scratch_, origin);
}

absl::StatusOr<bool> EGraph::AddTo(ClassId id, OpId op, std::span<const ClassId> children,
                                   Origin origin) {
  scratch_.assign(children.begin(), children.end());
  for (ClassId& child : scratch_) child = Find(child);
  const uint32_t hash = HashOf(op, scratch_);
  const ENodeId found = FindNode(hash, op, scratch_);
  if (found.valid()) return Union(id, class_of(found), origin);
  return InsertTo(id, hash, op, scratch_, origin);
}

absl::StatusOr<bool> EGraph::InsertTo(ClassId id, uint32_t hash, OpId op,
                                      std::span<const ClassId> children, Origin origin) {
  if (analysis_ != nullptr || records_proofs_ || cycles_ != Cycles::kAllowed) {
    return InsertObserved(id, hash, op, children, origin);
  }
  if (!HasRoom(op, children.size())) return NoRoom();
  InsertInto(id, hash, op, children, origin);
  return true;
}

absl::StatusOr<bool> EGraph::InsertObserved(ClassId id, uint32_t hash, OpId op,
                                            std::span<const ClassId> children, Origin origin) {
  const bool wants_class = analysis_ != nullptr && !analysis_->update_is_complete();
  if (wants_class || records_proofs_ || cycles_ != Cycles::kAllowed) {
    const absl::StatusOr<ClassId> fresh = Insert(hash, op, children, origin);
    if (!fresh.ok()) {
      VoidApplication(origin);
      return fresh.status();
    }
    QUOTIENT_RETURN_IF_ERROR(Union(id, *fresh, origin).status());
    return true;
  }
  if (!HasRoom(op, children.size())) return NoRoom();
  const ENodeId node = InsertInto(id, hash, op, children, origin);
  QUOTIENT_RETURN_IF_ERROR(analysis_->Update(*this, node));
  return true;
}

// Adds the e-node to an existing class instead of giving it a class of its own.
inline ENodeId EGraph::InsertInto(ClassId id, uint32_t hash, OpId op,
                                  std::span<const ClassId> children, Origin origin) {
  const ClassId root = Find(id);
  const ENodeId node = InsertNode(hash, op, children, root, origin);
  if (classes_[root.value()].leaves_only()) to_prune_.push_back(root);
  return node;
}

bool EGraph::HasRoom(OpId op, size_t num_children) const {
  return op.value() >> Row::kOpBits == 0 && rows_.size() < Row::kMaxRows &&
         list_children_.size() + num_children < UseId::kListed - 1;
}

absl::StatusOr<ClassId> EGraph::Insert(uint32_t hash, OpId op, std::span<const ClassId> children,
                                       Origin origin) {
  if (!HasRoom(op, children.size())) return NoRoom();
  if (analysis_ != nullptr) {
    const ClassId fresh(union_find_.size());
    QUOTIENT_RETURN_IF_ERROR(analysis_->Make(*this, op, children, fresh));
    to_modify_.push_back(fresh);
  }
  const ClassId fresh = MakeClass();
  if (cycles_ != Cycles::kAllowed) levels_.push_back({LevelAbove(children)});
  InsertNode(hash, op, children, fresh, origin);
  return fresh;
}

ClassId EGraph::MakeClass() {
  classes_.push_back(ClassRow());
  ++num_classes_;
  return union_find_.MakeSet();
}

// Puts the e-node at the front of its class's members and returns the one that was first.
inline ENodeId EGraph::LinkMember(ClassId id, uint32_t kind_bit, ENodeId node) {
  ENodeId next;
  classes_.Edit(id.value(), [&](ClassRow& row) {
    next = row.first_member;
    row.first_member = node;
    if (!next.valid()) row.last_member = node;
    ++row.weight_and_flags;
    row.member_kinds |= kind_bit;
  });
  return next;
}

inline UseId EGraph::LinkUse(ClassId child, KindId kind, size_t position, UseId use) {
  UseId next;
  classes_.Edit(child.value(), [&](ClassRow& row) {
    next = row.first_use;
    row.first_use = use;
    if (!next.valid()) row.last_use = use;
    ++row.weight_and_flags;
    row.use_kinds |= ClassRow::UseBit(kind, position);
  });
  return next;
}

ENodeId EGraph::InsertNode(uint32_t hash, OpId op, std::span<const ClassId> children, ClassId id,
                           Origin origin) {
  const ENodeId node(rows_.size());
  if (hash_cons_.full()) MakeRoomInHashCons();
  const KindId kind = KindOf(op);
  op_bound_ = std::max(op_bound_, op.value() + 1);
  // The fields are written one word at a time, without reading the row back as a whole: the
  // processor could not forward such stores.
  Row& row = rows_.Append();
  row.head = Row::Key(op, children.size());
  row.cls = id;
  row.child[0] = row.child[1] = ClassId();
  row.next_use[0] = row.next_use[1] = UseId();
  row.changed_at = changes_.epoch();
  row.next_member =
      LinkMember(id, children.empty() ? ClassRow::kLeafBit : ClassRow::MemberBit(kind), node);
  if (children.size() > 2) {
    LinkList(row, kind, children, node);
  } else {
    for (size_t i = 0; i < children.size(); ++i) {
      row.child[i] = children[i];
      row.next_use[i] = LinkUse(children[i], kind, i, UseId::InRow(node, i));
    }
  }
  if (records_proofs_) RememberBirth(children);
  origin_.push_back({origin});
  hash_cons_.Insert(hash, node);
  Touch(node);
  ++num_enodes_;
  dirty_ = true;
  return node;
}

void EGraph::LinkList(Row& row, KindId kind, std::span<const ClassId> children, ENodeId node) {
  row.child[0] = ClassId(list_children_.size());
  row.child[1] = ClassId(static_cast<uint32_t>(children.size()));
  for (size_t i = 0; i < children.size(); ++i) {
    const UseId next = LinkUse(children[i], kind, i, UseId::InList(list_children_.size()));
    list_children_.push_back(children[i]);
    list_uses_.push_back({node, next});
  }
}

void EGraph::RememberBirth(std::span<const ClassId> children) {
  for (ClassId child : children) born_children_.push_back(child);
}

void EGraph::SetNextUse(UseId use, UseId next) {
  if (use.listed()) {
    list_uses_.Write(use.place(), &ListedUse::next, next);
  } else {
    rows_.Write(use.node().value(), &Row::next_use, use.position(), next);
  }
}

KindId EGraph::RememberKind(OpId op) {
  if (op.value() >= kind_of_op_.size()) kind_of_op_.resize(op.value() + 1);
  return kind_of_op_[op.value()] = table_->Kind(op);
}

void EGraph::ExpectNodes(size_t count) {
  if (trail_.active()) return;  // Moving entries would be logged.
  hash_cons_.Grow(static_cast<uint32_t>(std::min<size_t>(rows_.size() + count, Row::kMaxRows)));
}

// Returns true if the table was filled anew from the current rows.
bool EGraph::MakeRoomInHashCons() {
  if (!hash_cons_.worth_cleaning()) {
    hash_cons_.Grow(hash_cons_.used() + 1);
    return false;
  }
  const auto duplicate = [](const Row& row) { return row.duplicate(); };
  const size_t entries = rows_.size() - std::ranges::count_if(rows_.span(), duplicate);
  hash_cons_.Clean(static_cast<uint32_t>(entries));
  // Works in batches, so that several cache misses overlap.
  constexpr uint32_t kBatch = 16;
  uint32_t hashes[kBatch];
  for (uint32_t begin = 0; begin < rows_.size(); begin += kBatch) {
    const uint32_t end = std::min(begin + kBatch, rows_.size());
    for (uint32_t i = begin; i < end; ++i) {
      hashes[i - begin] = HashOf(rows_[i].op(), ChildrenOf(ENodeId(i)));
      hash_cons_.Prefetch(hashes[i - begin]);
    }
    for (uint32_t i = begin; i < end; ++i) {
      if (!rows_[i].duplicate()) hash_cons_.Insert(hashes[i - begin], ENodeId(i));
    }
  }
  return true;
}

void EGraph::MarkChanged(ENodeId id) {
  Touch(id);
  if (rows_[id.value()].changed_at == changes_.epoch()) return;
  rows_.Write(id.value(), &Row::changed_at, changes_.epoch());
  changes_.Add(id);
}

absl::StatusOr<bool> EGraph::Union(ClassId a, ClassId b, Origin origin) {
  ClassId kept = Find(a);
  ClassId absorbed = Find(b);
  if (kept == absorbed) return false;
  // The class with more links stays, because the other one's must be touched; on a tie, the older.
  const auto weight = [this](ClassId id) { return classes_[id.value()].weight(); };
  if (weight(kept) < weight(absorbed) || (weight(kept) == weight(absorbed) && absorbed < kept)) {
    std::swap(kept, absorbed);
  }
  if (cycles_ == Cycles::kRefused) {
    if (absl::Status status = KeepOrder(kept, absorbed); !status.ok()) {
      VoidApplication(origin);
      return status;
    }
  }
  if (analysis_ != nullptr) {
    if (absl::Status status = analysis_->Merge(*this, kept, absorbed); !status.ok()) {
      refused_union_ = UnionRecord{a, b, origin};
      VoidApplication(origin);
      return status;
    }
    to_modify_.push_back(kept);
  }
  // With kMarked this marks e-nodes instead of refusing, so it cannot fail.
  if (cycles_ == Cycles::kMarked) QUOTIENT_RETURN_IF_ERROR(KeepOrder(kept, absorbed));
  if (state_hash_ != nullptr) state_hash_->Unite(*this, kept, absorbed);
  union_find_.Absorb(kept, absorbed);
  if (records_proofs_) unions_.push_back({a, b, origin});
  --num_classes_;
  const ClassRow from = classes_[absorbed.value()];
  JoinChains(kept, from);
  if (classes_[kept.value()].leaves_only()) to_prune_.push_back(kept);
  to_repair_.push_back(absorbed);
  dirty_ = true;
  return true;
}

void EGraph::JoinChains(ClassId kept, const ClassRow& from) {
  classes_.Edit(kept.value(), [&](ClassRow& to) {
    if (!to.last_member.valid()) {
      to.first_member = from.first_member;
      to.last_member = from.last_member;
    } else if (from.last_member.valid()) {
      rows_.Write(to.last_member.value(), &Row::next_member, from.first_member);
      to.last_member = from.last_member;
    }
    if (!to.last_use.valid()) {
      to.first_use = from.first_use;
      to.last_use = from.last_use;
    } else if (from.last_use.valid()) {
      SetNextUse(to.last_use, from.first_use);
      to.last_use = from.last_use;
    }
    to.weight_and_flags += from.weight();
    to.weight_and_flags |= from.weight_and_flags & ClassRow::kLeavesOnly;
    to.duplicates += from.duplicates;
    to.member_kinds |= from.member_kinds;
    to.use_kinds |= from.use_kinds;
  });
}

void EGraph::PruneToLeaves(ClassId id) {
  const ClassId root = Find(id);
  const ClassRow& row = classes_[root.value()];
  if (row.leaves_only()) return;
  classes_.Write(root.value(), &ClassRow::weight_and_flags,
                 row.weight_and_flags | ClassRow::kLeavesOnly);
  to_prune_.push_back(root);
  dirty_ = true;
}

void EGraph::RecordApplication(Origin origin, std::span<const uint32_t> classes,
                               std::span<const uint32_t> ops) {
  if (!records_proofs_) return;
  last_application_ = applications_.size();
  for (const uint32_t word : {origin, unions_.size(), static_cast<uint32_t>(classes.size()),
                              static_cast<uint32_t>(ops.size())}) {
    applications_.push_back({word});
  }
  for (const uint32_t id : classes) applications_.push_back({id});
  for (const uint32_t op : ops) applications_.push_back({op});
}

// A match that failed to make its two sides equal must not appear in an explanation.
void EGraph::VoidApplication(Origin origin) {
  if (last_application_ >= applications_.size()) return;
  if (applications_[last_application_].value != origin) return;
  applications_.Write(last_application_, {kVoidOrigin});
}

}  // namespace quotient::egraph
