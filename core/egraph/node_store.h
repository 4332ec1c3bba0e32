#pragma once

// NodeStore: the e-nodes of an e-graph and the chains that link them. A chain is a linked list
// through the rows (row.h): each class has one of its members and one of its uses. The store keeps
// the links consistent; congruence, the hash-cons and the analysis are the e-graph's business.
//
// E-nodes are never moved or renumbered. Walks along chains include duplicates, which are no longer
// live. Class ids are the caller's: where a class is meant by its chains it must be canonical.
//
// One thread may change the store; any number may read it meanwhile unchanged. A Trail undoes all
// changes.

#include <cstdint>
#include <span>

#include "core/egraph/flat_array.h"
#include "core/egraph/ids.h"
#include "core/egraph/row.h"

namespace quotient::egraph {

class NodeStore {
 public:
  explicit NodeStore(Trail* trail)
      : rows_(trail), list_children_(trail), list_uses_(trail), classes_(trail) {}

  // --- E-nodes

  uint32_t num_nodes() const { return rows_.size(); }
  const Row& row(ENodeId id) const { return rows_[id.value()]; }
  const FlatArray<Row>& rows() const { return rows_; }
  std::span<const ClassId> children(ENodeId id) const {
    const Row& row = rows_[id.value()];
    if (!row.listed()) return {row.child, row.arity()};
    return list_children_.span().subspan(row.child[0].value(), row.child[1].value());
  }

  // --- Chains

  // The heads of the chains. The sets of kinds in the row rule out many walks beforehand.
  const ClassRow& class_row(ClassId id) const { return classes_[id.value()]; }
  // The e-node, the child position and the next link of a link in a chain of uses.
  ENodeId NodeOf(UseId use) const {
    return use.listed() ? list_uses_[use.place()].node : use.node();
  }
  uint32_t PositionOf(UseId use) const {
    if (!use.listed()) return use.position();
    return use.place() - rows_[list_uses_[use.place()].node.value()].child[0].value();
  }
  UseId NextUse(UseId use) const {
    return use.listed() ? list_uses_[use.place()].next
                        : rows_[use.node().value()].next_use[use.position()];
  }
  // Calls visit(e-node) for the members of the class.
  template <typename Visit>
  void ForEachMember(ClassId id, const Visit& visit) const {
    for (ENodeId at = classes_[id.value()].first_member; at.valid();) {
      const ENodeId next = rows_[at.value()].next_member;
      if (next.valid()) __builtin_prefetch(&rows_[next.value()]);
      visit(at);
      at = next;
    }
  }
  // Calls visit(e-node, position) for each child position that holds the class.
  template <typename Visit>
  void ForEachUse(ClassId id, const Visit& visit) const {
    for (UseId at = classes_[id.value()].first_use; at.valid();) {
      const UseId next = NextUse(at);
      if (next.valid() && !next.listed()) __builtin_prefetch(&rows_[next.node().value()]);
      visit(NodeOf(at), PositionOf(at));
      at = next;
    }
  }
  // Calls visit(use) for the links from `first` to `last`.
  template <typename Visit>
  void ForEachUseBetween(UseId first, UseId last, const Visit& visit) const {
    for (UseId at = first; at.valid(); at = at == last ? UseId() : NextUse(at)) visit(at);
  }

  // --- Prefetching

  // Whether there are so few e-nodes that prefetching does not pay.
  bool fits_in_cache() const { return rows_.size() <= kInCache; }
  // Prefetch what a walk around the e-node will read, in three stages that each need the one
  // before: the heads of the chains, their first links, their second links.
  void PrefetchHeads(ENodeId id) const;
  void PrefetchFirst(ENodeId id) const;
  void PrefetchSecond(ENodeId id) const;
  // Prefetch a row to read, or a class row to write.
  void PrefetchRow(ENodeId id) const { __builtin_prefetch(&rows_[id.value()]); }
  void PrefetchRowToWrite(ENodeId id) const { __builtin_prefetch(&rows_[id.value()], 1); }
  void PrefetchClassToWrite(ClassId id) const { __builtin_prefetch(&classes_[id.value()], 1); }

  // --- Adding and joining

  // Whether an e-node with this word and so many children can still be added.
  bool HasRoom(OpId op, size_t num_children) const {
    return op.value() >> Row::kOpBits == 0 && rows_.size() < Row::kMaxRows &&
           list_children_.size() + num_children < UseId::kListed - 1;
  }
  // Adds the next class, without e-nodes.
  void AddClass() { classes_.push_back(ClassRow()); }
  // Adds an e-node to a class, in front of its members, and links its uses. `epoch` becomes the
  // row's changed_at.
  ENodeId Add(OpId op, std::span<const ClassId> children, ClassId id, KindId kind, uint32_t epoch);
  // Joins the chains of `absorbed` to those of `kept`. The row of `absorbed` still says which links
  // came from it. The rows themselves do not change.
  void Join(ClassId kept, ClassId absorbed);

  // --- Changing an e-node

  void SetClass(ENodeId id, ClassId cls) { rows_.Write(id.value(), &Row::cls, cls); }
  void SetChangedAt(ENodeId id, uint32_t epoch) {
    rows_.Write(id.value(), &Row::changed_at, epoch);
  }
  void MarkDuplicate(ENodeId id) { SetHead(id, Row::kDuplicate); }
  // Replaces each child by canonical(child). The links stay as they are: the chains of united
  // classes are joined.
  template <typename Canonical>
  void SetChildren(ENodeId id, const Canonical& canonical) {
    const Row& row = rows_[id.value()];
    if (!row.listed()) {
      for (uint32_t i = 0; i < row.arity(); ++i) {
        rows_.Write(id.value(), &Row::child, i, canonical(row.child[i]));
      }
      return;
    }
    const uint32_t begin = row.child[0].value(), end = begin + row.child[1].value();
    for (uint32_t i = begin; i < end; ++i) list_children_.Write(i, canonical(list_children_[i]));
  }

  // --- Classes that keep only their leaves

  void SetLeavesOnly(ClassId id) {
    const uint32_t word = classes_[id.value()].weight_and_flags;
    classes_.Write(id.value(), &ClassRow::weight_and_flags, word | ClassRow::kLeavesOnly);
  }
  // Hides a member. It stays in the chains, but is no longer live.
  void Hide(ENodeId id) { SetHead(id, Row::kHidden); }
  // Says that all members but leaves are hidden.
  void NoteHidden(ClassId id) {
    classes_.Write(id.value(), &ClassRow::member_kinds, ClassRow::kLeafBit);
  }

  // --- Thinning out

  // Counts one more duplicate link in the chains of the class. Returns whether it is worth dropping
  // them: whether they are more than half of all links the chains ever had.
  bool CountDuplicate(ClassId id);
  // Removes the duplicates from both chains of the class.
  void DropDuplicates(ClassId id);

 private:
  // Number of rows up to which the graph is taken to fit the cache: with classes and slots, 640 KB.
  static constexpr uint32_t kInCache = 1u << 13;

  void SetHead(ENodeId id, uint32_t bits) {
    rows_.Write(id.value(), &Row::head, rows_[id.value()].head | bits);
  }
  ENodeId LinkMember(ClassId id, uint32_t kind_bit, ENodeId node);
  UseId LinkUse(ClassId child, KindId kind, size_t position, UseId use);
  void LinkList(Row& row, KindId kind, std::span<const ClassId> children, ENodeId node);
  void SetNextUse(UseId use, UseId next);
  void DropDuplicateMembers(ClassRow& row);
  void DropDuplicateUses(ClassRow& row);

  FlatArray<Row> rows_;               // By ENodeId.
  FlatArray<ClassId> list_children_;  // Children of e-nodes with more than two.
  FlatArray<ListedUse> list_uses_;    // Parallel to list_children_.
  FlatArray<ClassRow> classes_;       // By ClassId.
};

}  // namespace quotient::egraph
