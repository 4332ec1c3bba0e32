#pragma once

// Row: an e-node in 16 bytes. Up to two children are in the row, more of them in a list elsewhere.
//
//   head: [duplicate 1][hidden 1][changed 1][..][arity 2][operator word 24]
//   cls:  the class
//   child[2]: the children; or, if the arity says "listed", where their list begins and its length

#include <cstdint>

#include "core/egraph/ids.h"

namespace quotient::egraph {

struct Row {
  static constexpr uint32_t kOpBits = 24;
  static constexpr uint32_t kListed = 3;
  static constexpr uint32_t kKeyMask = (1u << (kOpBits + 2)) - 1;
  static constexpr uint32_t kChanged = 1u << 29;    // among the changes not acknowledged yet
  static constexpr uint32_t kHidden = 1u << 30;     // its class keeps leaves only
  static constexpr uint32_t kDuplicate = 1u << 31;  // congruent to another, which stands for it

  uint32_t head;
  ClassId cls;
  ClassId child[2];

  // Operator word and arity: equal for e-nodes that can be equal.
  static uint32_t Key(OpId op, size_t arity) {
    return op.value() | (arity > 2 ? kListed : static_cast<uint32_t>(arity)) << kOpBits;
  }

  OpId op() const { return OpId(head & ((1u << kOpBits) - 1)); }
  uint32_t key() const { return head & kKeyMask; }
  bool listed() const { return arity() == kListed; }
  // Of rows that are not listed.
  uint32_t arity() const { return (head >> kOpBits) & 3; }
  bool duplicate() const { return (head & kDuplicate) != 0; }
  bool changed() const { return (head & kChanged) != 0; }
  bool live() const { return (head & (kDuplicate | kHidden)) == 0; }
};

// An e-node that has a class as its child number `position`, packed. Positions from kLast on are
// one: of those there is one entry for each e-node and class.
struct ParentEntry {
  static constexpr uint32_t kPositionBits = 3;
  static constexpr uint32_t kLast = (1u << kPositionBits) - 1;
  // In the place of an entry that is gone.
  static constexpr uint32_t kRemoved = 0xfffffffeu;
  static constexpr uint32_t kMaxENodes = (1u << (32 - kPositionBits)) - 1;

  static uint32_t Pack(ENodeId node, size_t position) {
    return node.value() << kPositionBits |
           (position < kLast ? static_cast<uint32_t>(position) : kLast);
  }
  static ENodeId Node(uint32_t entry) { return ENodeId(entry >> kPositionBits); }
  static uint32_t Position(uint32_t entry) { return entry & kLast; }
};

}  // namespace quotient::egraph
