#pragma once

// Row: an e-node in 32 bytes. Up to two children are in the row, more of them in a list elsewhere.
//
//   head: [duplicate 1][hidden 1][on cycle 1][..][arity 2][operator word 24]
//   cls:  the class
//   child[2]: the children; or, if the arity says "listed", where their list begins and its length
//   next_member, next_use[2]: chains that the e-node is a link of; see below
//   changed_at: epoch of the last change, see change_log.h
//
// The e-nodes of a class and its uses (e-nodes that have it as a child) are chains through the rows
// themselves: whoever walks through them looks at the rows anyway.

#include <algorithm>
#include <cstdint>

#include "core/egraph/ids.h"

namespace quotient::egraph {

// A child of an e-node, in one word: the e-node and the position; for e-nodes with more than two
// children the place in the array of all such children.
class UseId {
 public:
  static constexpr uint32_t kListed = 1u << 31;

  constexpr UseId() = default;  // invalid
  static constexpr UseId InRow(ENodeId node, size_t position) {
    return UseId(node.value() << 1 | static_cast<uint32_t>(position));
  }
  static constexpr UseId InList(size_t place) {
    return UseId(kListed | static_cast<uint32_t>(place));
  }

  constexpr bool valid() const { return word_ != kInvalid; }
  constexpr bool listed() const { return (word_ & kListed) != 0; }
  constexpr uint32_t place() const { return word_ & ~kListed; }
  // Of those that are not listed.
  constexpr ENodeId node() const { return ENodeId(word_ >> 1); }
  constexpr uint32_t position() const { return word_ & 1; }

  friend constexpr bool operator==(UseId, UseId) = default;

 private:
  constexpr explicit UseId(uint32_t word) : word_(word) {}
  static constexpr uint32_t kInvalid = 0xffffffffu;
  uint32_t word_ = kInvalid;
};

struct Row {
  static constexpr uint32_t kOpBits = 24;
  static constexpr uint32_t kListed = 3;
  static constexpr uint32_t kKeyMask = (1u << (kOpBits + 2)) - 1;
  static constexpr uint32_t kOnCycle = 1u << 29;    // its class contains itself through it
  static constexpr uint32_t kHidden = 1u << 30;     // its class keeps leaves only
  static constexpr uint32_t kDuplicate = 1u << 31;  // congruent to another, which stands for it
  static constexpr uint32_t kMaxRows = 1u << 28;    // whose words 32 bits can count

  uint32_t head;
  ClassId cls;
  ClassId child[2];
  ENodeId next_member;
  UseId next_use[2];  // not of listed children
  uint32_t changed_at;

  // Operator word and arity: equal for e-nodes that can be equal. A duplicate equals none.
  static uint32_t Key(OpId op, size_t arity) {
    return op.value() | (arity > 2 ? kListed : static_cast<uint32_t>(arity)) << kOpBits;
  }

  OpId op() const { return OpId(head & ((1u << kOpBits) - 1)); }
  uint32_t key() const { return head & (kKeyMask | kDuplicate); }
  // Of at most two children, the content; invalid where there is no child.
  bool Holds(uint32_t key, ClassId first, ClassId second) const {
    return child[0] == first && child[1] == second && this->key() == key;
  }
  bool listed() const { return arity() == kListed; }
  // Of rows that are not listed.
  uint32_t arity() const { return (head >> kOpBits) & 3; }
  bool duplicate() const { return (head & kDuplicate) != 0; }
  bool on_cycle() const { return (head & kOnCycle) != 0; }
  bool live() const { return (head & (kDuplicate | kHidden)) == 0; }
};
static_assert(sizeof(Row) == 32);

// What goes with a listed child.
struct ListedUse {
  ENodeId node;
  UseId next;
};

// The heads of a class's chains. Ends are kept, too, so that chains join in constant time.
//
// The sets of kinds tell most walks along a chain beforehand that there is nothing to find: one bit
// for several kinds, and bits of what was there once may stay.
struct ClassRow {
  ENodeId first_member;
  ENodeId last_member;
  UseId first_use;
  UseId last_use;
  // Members and uses there ever were, and kLeavesOnly. What Rebuild has to touch, at most, when
  // the class is absorbed.
  uint32_t weight_and_flags = 0;
  uint32_t duplicates = 0;  // links of both chains, at most; see EGraph::DropDuplicates
  uint32_t member_kinds = 0;
  uint32_t use_kinds = 0;

  // E-nodes without children have a bit for themselves: they are all that is left of some classes.
  static constexpr uint32_t kLeafBit = 1u << 31;
  static uint32_t MemberBit(KindId kind) { return 1u << std::min(kind.value() % 32, 30u); }
  static uint32_t UseBit(KindId kind, size_t position) {
    return 1u << (kind.value() + (position == 0 ? 0 : 16)) % 32;
  }

  static constexpr uint32_t kLeavesOnly = 1u << 31;
  uint32_t weight() const { return weight_and_flags & ~kLeavesOnly; }
  bool leaves_only() const { return (weight_and_flags & kLeavesOnly) != 0; }
};

}  // namespace quotient::egraph
