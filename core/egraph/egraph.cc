// E-nodes and classes: adding, uniting, looking up, and the state as a whole. What restores
// congruence is in rebuild.cc.

#include "core/egraph/egraph.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "core/base/status_macros.h"
#include "core/egraph/hash.h"

namespace quotient::egraph {

EGraph::EGraph(const OpTable* table, Analysis* analysis)
    : table_(table),
      analysis_(analysis),
      rows_(&trail_),
      origin_(&trail_),
      list_children_(&trail_),
      hash_cons_(&trail_),
      union_find_(&trail_),
      classes_(&trail_),
      lists_(&trail_),
      kinds_(&trail_),
      unions_(&trail_),
      changes_(&trail_) {}

ENodeId EGraph::FindNode(uint32_t hash, OpId op, std::span<const ClassId> children) const {
  const uint32_t key = Row::Key(op, children.size());
  if (children.size() > 2) {
    return hash_cons_.Find(hash, [&](ENodeId candidate) {
      return rows_[candidate.value()].key() == key &&
             std::ranges::equal(ChildrenOf(candidate), children);
    });
  }
  const ClassId first = children.empty() ? ClassId() : children[0];
  const ClassId second = children.size() < 2 ? ClassId() : children[1];
  return hash_cons_.Find(hash, [&](ENodeId candidate) {
    const Row& row = rows_[candidate.value()];
    return row.child[0] == first && row.child[1] == second && row.key() == key;
  });
}

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

void EGraph::PrefetchAround(ENodeId id) const {
  constexpr uint32_t kAhead = 8;
  const uint32_t far = id.value() + 2 * kAhead;
  if (far >= rows_.size()) return;
  __builtin_prefetch(&classes_[rows_[far].cls.value()]);
  for (ClassId child : ChildrenOf(ENodeId(far))) __builtin_prefetch(&classes_[child.value()]);
  const uint32_t near = id.value() + kAhead;
  lists_.PrefetchHead(classes_[rows_[near].cls.value()].parents);
  for (ClassId child : ChildrenOf(ENodeId(near))) {
    lists_.PrefetchHead(classes_[child.value()].members);
  }
}

EGraph::Probe EGraph::StartProbe(OpId op, std::span<const ClassId> children) const {
  Probe probe = {0, op, static_cast<uint32_t>(children.size()), {}};
  for (size_t i = 0; i < children.size(); ++i) probe.children[i] = Find(children[i]);
  probe.hash = HashOf(op, {probe.children, children.size()});
  hash_cons_.Prefetch(probe.hash);
  return probe;
}

void EGraph::LookAt(const Probe& probe) const {
  const ENodeId candidate = hash_cons_.Find(probe.hash, [](ENodeId) { return true; });
  if (candidate.valid()) __builtin_prefetch(&rows_[candidate.value()]);
}

absl::StatusOr<ClassId> EGraph::AddProbed(const Probe& probe, Origin origin) {
  const std::span<const ClassId> children(probe.children, probe.num_children);
  const ENodeId found = FindNode(probe.hash, probe.op, children);
  if (found.valid()) return class_of(found);
  return Insert(probe.hash, probe.op, children, origin);
}

absl::StatusOr<bool> EGraph::AddProbedTo(ClassId id, const Probe& probe, Origin origin) {
  const std::span<const ClassId> children(probe.children, probe.num_children);
  const ENodeId found = FindNode(probe.hash, probe.op, children);
  if (found.valid()) return Union(id, class_of(found), origin);
  return InsertTo(id, probe.hash, probe.op, children, origin);
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
  if (analysis_ != nullptr) {
    QUOTIENT_ASSIGN_OR_RETURN(const ClassId fresh, Insert(hash, op, children, origin));
    QUOTIENT_RETURN_IF_ERROR(Union(id, fresh, origin).status());
    return true;
  }
  QUOTIENT_RETURN_IF_ERROR(CheckRoom(op, children.size()));
  const ClassId root = Find(id);
  InsertNode(hash, op, children, root, origin);
  if (classes_[root.value()].leaves_only != 0) to_prune_.push_back(root);
  return true;
}

absl::Status EGraph::CheckRoom(OpId op, size_t num_children) const {
  constexpr uint32_t kMaxSlots = 1u << 30;  // chunks of lists are addressed by slot
  if (op.value() >> Row::kOpBits != 0 || rows_.size() >= ParentEntry::kMaxENodes ||
      lists_.chunks().size() >= kMaxSlots - num_children - 3 ||
      list_children_.size() >= 0xfffffff0u - num_children) {
    return absl::ResourceExhaustedError("e-graph: no ids left");
  }
  return absl::OkStatus();
}

absl::StatusOr<ClassId> EGraph::Insert(uint32_t hash, OpId op, std::span<const ClassId> children,
                                       Origin origin) {
  QUOTIENT_RETURN_IF_ERROR(CheckRoom(op, children.size()));
  if (analysis_ != nullptr) {
    const ClassId fresh(union_find_.size());
    QUOTIENT_RETURN_IF_ERROR(analysis_->Make(*this, op, children, fresh));
    to_modify_.push_back(fresh);
  }
  const ClassId fresh = MakeClass();
  InsertNode(hash, op, children, fresh, origin);
  return fresh;
}

ClassId EGraph::MakeClass() {
  classes_.push_back(ClassRow());
  ++num_classes_;
  return union_find_.MakeSet();
}

ENodeId EGraph::InsertNode(uint32_t hash, OpId op, std::span<const ClassId> children, ClassId id,
                           Origin origin) {
  const ENodeId node(rows_.size());
  if (hash_cons_.full()) Rehash();
  Row row = {Row::Key(op, children.size()) | Row::kChanged, id, {}};
  if (row.listed()) {
    row.child[0] = ClassId(list_children_.size());
    row.child[1] = ClassId(static_cast<uint32_t>(children.size()));
    for (ClassId child : children) list_children_.push_back(child);
  } else {
    std::ranges::copy(children, row.child);
  }
  rows_.push_back(row);
  origin_.push_back({origin});
  hash_cons_.Insert(hash, node);
  RememberKind(op);
  ++num_enodes_;
  dirty_ = true;
  return node;
}

// Puts new e-nodes into the lists of their class, their children and their kind. Done for many at
// once: what one of them needs is asked for while others are worked on. Those whose children or
// class were united with others since have to be repaired.
void EGraph::IndexNewNodes() {
  constexpr uint32_t kAhead = 8;
  const uint32_t end = rows_.size();
  const auto prefetch_classes = [this](uint32_t row) {
    __builtin_prefetch(&classes_[rows_[row].cls.value()], 1);
    for (ClassId child : ChildrenOf(ENodeId(row))) __builtin_prefetch(&classes_[child.value()], 1);
  };
  const auto prefetch_lists = [this](uint32_t row) {
    lists_.PrefetchTail(classes_[rows_[row].cls.value()].members);
    for (ClassId child : ChildrenOf(ENodeId(row))) {
      lists_.PrefetchTail(classes_[child.value()].parents);
    }
  };
  for (; indexed_rows_ < end; ++indexed_rows_) {
    const uint32_t i = indexed_rows_;
    if (i + 2 * kAhead < end) prefetch_classes(i + 2 * kAhead);
    if (i + kAhead < end) prefetch_lists(i + kAhead);
    const ENodeId node(i);
    const ClassId id = Find(rows_[i].cls);
    if (id != rows_[i].cls) rows_.Write(i, &Row::cls, id);
    AppendMember(id, node);
    AddParents(node);
    const uint32_t kind = kind_of_op_[rows_[i].op().value()].value();
    kinds_.Extend(kind + 1, EntryLists::List());
    kinds_.Write(kind, lists_.Append(kinds_[kind], i));
    const auto stale = [this](ClassId child) { return Find(child) != child; };
    if (std::ranges::any_of(ChildrenOf(node), stale)) repair_queue_.push_back(node);
  }
}

void EGraph::AppendMember(ClassId id, ENodeId node) {
  const EntryLists::List list = lists_.Append(classes_[id.value()].members, node.value());
  classes_.Write(id.value(), &ClassRow::members, list);
}

KindId EGraph::RememberKind(OpId op) {
  if (op.value() >= kind_of_op_.size()) kind_of_op_.resize(op.value() + 1);
  KindId& kind = kind_of_op_[op.value()];
  if (!kind.valid()) kind = table_->Kind(op);
  return kind;
}

void EGraph::AddParents(ENodeId node) {
  const std::span<const ClassId> children = ChildrenOf(node);
  for (size_t i = 0; i < children.size(); ++i) {
    if (i > ParentEntry::kLast) {
      const auto tail = children.subspan(ParentEntry::kLast, i - ParentEntry::kLast);
      if (std::ranges::find(tail, children[i]) != tail.end()) continue;
    }
    const uint32_t child = Find(children[i]).value();
    const EntryLists::List list =
        lists_.Append(classes_[child].parents, ParentEntry::Pack(node, i));
    classes_.Write(child, &ClassRow::parents, list);
  }
}

void EGraph::Rehash() {
  uint32_t count = 0;
  for (const Row& row : rows_.span()) count += row.duplicate() ? 0 : 1;
  hash_cons_.Rehash(count);
  // A few at a time, so that several cache misses are under way.
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
}

void EGraph::MarkChanged(ENodeId id) {
  if (rows_[id.value()].changed()) return;
  SetHead(id, Row::kChanged);
  changes_.push_back(id);
}

void EGraph::AcknowledgeChanges() {
  ForEachChange([this](ENodeId id) {
    rows_.Write(id.value(), &Row::head, rows_[id.value()].head & ~Row::kChanged);
  });
  if (!trail_.active()) changes_.Clear();
  seen_rows_ = rows_.size();
  seen_changes_ = changes_.size();
}

absl::StatusOr<bool> EGraph::Union(ClassId a, ClassId b, Origin origin) {
  ClassId kept = Find(a);
  ClassId absorbed = Find(b);
  if (kept == absorbed) return false;
  // What Rebuild has to touch of a class; the one with more of it stays, then the older.
  const auto weight = [this](ClassId id) {
    return classes_[id.value()].parents.count + classes_[id.value()].members.count;
  };
  if (weight(kept) < weight(absorbed) || (weight(kept) == weight(absorbed) && absorbed < kept)) {
    std::swap(kept, absorbed);
  }
  if (analysis_ != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(analysis_->Merge(*this, kept, absorbed));
    to_modify_.push_back(kept);
  }
  union_find_.Absorb(kept, absorbed);
  unions_.push_back({a, b, origin});
  --num_classes_;
  const ClassRow from = classes_[absorbed.value()];
  ClassRow to = classes_[kept.value()];
  to.parents = lists_.Join(to.parents, from.parents);
  to.members = lists_.Join(to.members, from.members);
  to.leaves_only |= from.leaves_only;
  classes_.Write(kept.value(), to);
  if (to.leaves_only != 0) to_prune_.push_back(kept);
  to_repair_.push_back({from.parents, from.members});
  dirty_ = true;
  return true;
}

void EGraph::PruneToLeaves(ClassId id) {
  const ClassId root = Find(id);
  if (classes_[root.value()].leaves_only != 0) return;
  classes_.Write(root.value(), &ClassRow::leaves_only, uint32_t{1});
  to_prune_.push_back(root);
  dirty_ = true;
}

void EGraph::Mark() {
  counts_at_mark_.push_back({num_enodes_, num_classes_, seen_rows_, seen_changes_});
  trail_.Mark();
  if (analysis_ != nullptr) analysis_->Mark();
}

void EGraph::Rollback() {
  trail_.Rollback();
  const Counts counts = counts_at_mark_.back();
  counts_at_mark_.pop_back();
  num_enodes_ = counts.num_enodes;
  num_classes_ = counts.num_classes;
  seen_rows_ = counts.seen_rows;
  seen_changes_ = counts.seen_changes;
  indexed_rows_ = rows_.size();
  to_repair_.clear();
  repair_queue_.clear();
  to_modify_.clear();
  to_prune_.clear();
  dirty_ = false;
  if (analysis_ != nullptr) analysis_->Rollback(*this);
}

void EGraph::Forget() {
  trail_.Forget();
  counts_at_mark_.pop_back();
  if (analysis_ != nullptr) analysis_->Forget();
}

template <typename Self, typename Visit>
void EGraph::VisitArrays(Self& self, const Visit& visit) {
  visit(self.rows_);
  visit(self.origin_);
  visit(self.list_children_);
  HashCons::VisitArrays(self.hash_cons_, visit);
  visit(self.union_find_.parents());
  visit(self.classes_);
  visit(self.lists_.chunks());
  visit(self.kinds_);
  visit(self.unions_);
  visit(self.changes_);
}

// The image: four counts, then of each array its number of words and the words.
std::vector<uint32_t> EGraph::Save() const {
  size_t words = 4;
  VisitArrays(*this, [&words](const auto& array) { words += 1 + array.words().size(); });
  std::vector<uint32_t> image;
  image.reserve(words);
  image.push_back(static_cast<uint32_t>(num_enodes_));
  image.push_back(static_cast<uint32_t>(num_classes_));
  image.push_back(seen_rows_);
  image.push_back(seen_changes_);
  VisitArrays(*this, [&image](const auto& array) {
    image.push_back(static_cast<uint32_t>(array.words().size()));
    image.insert(image.end(), array.words().begin(), array.words().end());
  });
  return image;
}

void EGraph::Load(std::span<const uint32_t> image) {
  num_enodes_ = image[0];
  num_classes_ = image[1];
  seen_rows_ = image[2];
  seen_changes_ = image[3];
  image = image.subspan(4);
  VisitArrays(*this, [&image](auto& array) {
    const size_t words = image[0];
    array.Assign(image.subspan(1, words));
    image = image.subspan(1 + words);
  });
  for (const Row& row : rows_.span()) RememberKind(row.op());
  indexed_rows_ = rows_.size();
  dirty_ = false;
}

}  // namespace quotient::egraph
