#pragma once

// Row: an e-node in 32 bytes. Up to two children are stored in the row, more of them in a list
// outside.
//
//   head: [duplicate 1][hidden 1][..][arity 2][operator word 24]
//   cls:  the class
//   child[2]: the children; if the arity is kListed, the start and the length of their list
//   next_member, next_use[2]: the next links of the chains described below
//   changed_at: epoch of the last change; see change_log.h
//
// The e-nodes of a class, and the uses of a class (the e-nodes that have it as a child), are linked
// lists through the rows: a walk along them reads the rows anyway.

#include <algorithm>
#include <cstdint>

#include "core/egraph/ids.h"

namespace quotient::egraph {

// One child position of an e-node, in one word: the e-node and the position or, for e-nodes with
// more than two children, an index into the array of all listed children.
class UseId {
 public:
  static constexpr uint32_t kListed = 1u << 31;

  constexpr UseId() = default;  // Invalid.
  static constexpr UseId InRow(ENodeId node, size_t position) {
    return UseId(node.value() << 1 | static_cast<uint32_t>(position));
  }
  static constexpr UseId InList(size_t place) {
    return UseId(kListed | static_cast<uint32_t>(place));
  }

  constexpr bool valid() const { return word_ != kInvalid; }
  constexpr bool listed() const { return (word_ & kListed) != 0; }
  constexpr uint32_t place() const { return word_ & ~kListed; }
  // Only for positions that are not listed.
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
  static constexpr uint32_t kHidden = 1u << 30;     // The class keeps only leaves; this is none.
  static constexpr uint32_t kDuplicate = 1u << 31;  // Congruent to another e-node that replaces it.
  static constexpr uint32_t kMaxRows = 1u << 28;    // Keeps word indices within 32 bits.

  uint32_t head;
  ClassId cls;
  ClassId child[2];
  ENodeId next_member;
  UseId next_use[2];  // Unused if the children are listed.
  uint32_t changed_at;

  // Operator word and arity in the layout of `head`. Equal e-nodes have equal keys; the key() of a
  // duplicate equals none.
  static uint32_t Key(OpId op, size_t arity) {
    return op.value() | (arity > 2 ? kListed : static_cast<uint32_t>(arity)) << kOpBits;
  }

  OpId op() const { return OpId(head & ((1u << kOpBits) - 1)); }
  uint32_t key() const { return head & (kKeyMask | kDuplicate); }
  // Whether the content is this key and these children (invalid where there is no child). Only for
  // at most two children.
  bool Holds(uint32_t key, ClassId first, ClassId second) const {
    return child[0] == first && child[1] == second && this->key() == key;
  }
  bool listed() const { return arity() == kListed; }
  // kListed for more than two children.
  uint32_t arity() const { return (head >> kOpBits) & 3; }
  bool duplicate() const { return (head & kDuplicate) != 0; }
  bool live() const { return (head & (kDuplicate | kHidden)) == 0; }
};
static_assert(sizeof(Row) == 32);

// What belongs to a listed child: its e-node, and the next link of the child's chain of uses.
struct ListedUse {
  ENodeId node;
  UseId next;
};

// The chains of a class. Their last links are kept, too, so that two chains join in constant time.
//
// For most walks the sets of kinds show that there is nothing to find. Several kinds share a bit,
// and a bit may stay set after its e-nodes are gone.
struct ClassRow {
  ENodeId first_member;
  ENodeId last_member;
  UseId first_use;
  UseId last_use;
  // kLeavesOnly, and the number of members and uses there ever were: at most so many e-nodes must
  // be touched when the class is absorbed.
  uint32_t weight_and_flags = 0;
  uint32_t duplicates = 0;  // Upper bound of duplicates in both chains.
  uint32_t member_kinds = 0;
  uint32_t use_kinds = 0;

  // E-nodes without children have a bit of their own, because some classes keep no others.
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
