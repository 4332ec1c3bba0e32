#include "core/egraph/node_store.h"

#include <utility>

namespace quotient::egraph {

void NodeStore::PrefetchHeads(ENodeId id) const {
  __builtin_prefetch(&classes_[rows_[id.value()].cls.value()]);
  for (ClassId child : children(id)) __builtin_prefetch(&classes_[child.value()]);
}

void NodeStore::PrefetchFirst(ENodeId id) const {
  const UseId use = classes_[rows_[id.value()].cls.value()].first_use;
  if (use.valid() && !use.listed()) __builtin_prefetch(&rows_[use.node().value()]);
  for (ClassId child : children(id)) {
    __builtin_prefetch(&rows_[classes_[child.value()].first_member.value()]);
  }
}

void NodeStore::PrefetchSecond(ENodeId id) const {
  const UseId first = classes_[rows_[id.value()].cls.value()].first_use;
  if (first.valid() && !first.listed()) {
    const UseId second = NextUse(first);
    if (second.valid() && !second.listed()) __builtin_prefetch(&rows_[second.node().value()]);
  }
  for (ClassId child : children(id)) {
    const ENodeId member = rows_[classes_[child.value()].first_member.value()].next_member;
    if (member.valid()) __builtin_prefetch(&rows_[member.value()]);
  }
}

// Puts the e-node at the front of its class's members and returns the one that was first.
inline ENodeId NodeStore::LinkMember(ClassId id, uint32_t kind_bit, ENodeId node) {
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

// Puts the use at the front of the child's uses and returns the one that was first.
inline UseId NodeStore::LinkUse(ClassId child, KindId kind, size_t position, UseId use) {
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

void NodeStore::LinkList(Row& row, KindId kind, std::span<const ClassId> children, ENodeId node) {
  row.child[0] = ClassId(list_children_.size());
  row.child[1] = ClassId(static_cast<uint32_t>(children.size()));
  for (size_t i = 0; i < children.size(); ++i) {
    const UseId next = LinkUse(children[i], kind, i, UseId::InList(list_children_.size()));
    list_children_.push_back(children[i]);
    list_uses_.push_back({node, next});
  }
}

ENodeId NodeStore::Add(OpId op, std::span<const ClassId> children, ClassId id, KindId kind,
                       uint32_t epoch) {
  const ENodeId node(rows_.size());
  // The fields are written one word at a time, without reading the row back as a whole: the
  // processor could not forward such stores.
  Row& row = rows_.Append();
  row.head = Row::Key(op, children.size());
  row.cls = id;
  row.child[0] = row.child[1] = ClassId();
  row.next_use[0] = row.next_use[1] = UseId();
  row.changed_at = epoch;
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
  return node;
}

void NodeStore::SetNextUse(UseId use, UseId next) {
  if (use.listed()) {
    list_uses_.Write(use.place(), &ListedUse::next, next);
  } else {
    rows_.Write(use.node().value(), &Row::next_use, use.position(), next);
  }
}

void NodeStore::Join(ClassId kept, ClassId absorbed) {
  const ClassRow from = classes_[absorbed.value()];
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

bool NodeStore::CountDuplicate(ClassId id) {
  constexpr uint32_t kWorthIt = 8;
  const ClassRow& row = classes_[id.value()];
  classes_.Write(id.value(), &ClassRow::duplicates, row.duplicates + 1);
  return row.duplicates >= kWorthIt && row.duplicates > row.weight() / 2;
}

void NodeStore::DropDuplicates(ClassId id) {
  ClassRow row = classes_[id.value()];
  DropDuplicateMembers(row);
  DropDuplicateUses(row);
  row.duplicates = 0;
  classes_.Write(id.value(), row);
}

void NodeStore::DropDuplicateMembers(ClassRow& row) {
  ENodeId last;
  const ENodeId first = std::exchange(row.first_member, ENodeId());
  for (ENodeId at = first; at.valid(); at = rows_[at.value()].next_member) {
    if (rows_[at.value()].duplicate()) continue;
    if (last.valid()) {
      rows_.Write(last.value(), &Row::next_member, at);
    } else {
      row.first_member = at;
    }
    last = at;
  }
  row.last_member = last;
  if (last.valid()) rows_.Write(last.value(), &Row::next_member, ENodeId());
}

void NodeStore::DropDuplicateUses(ClassRow& row) {
  UseId last;
  const UseId first = std::exchange(row.first_use, UseId());
  for (UseId at = first; at.valid(); at = NextUse(at)) {
    if (rows_[NodeOf(at).value()].duplicate()) continue;
    if (last.valid()) {
      SetNextUse(last, at);
    } else {
      row.first_use = at;
    }
    last = at;
  }
  row.last_use = last;
  if (last.valid()) SetNextUse(last, UseId());
}

}  // namespace quotient::egraph
