#pragma once

// The hash of an e-node's content. It has a name of its own: absl::HashOf takes anything, and is
// found for arguments of Abseil's types wherever its header happens to be included.

#include <cstdint>
#include <span>

#include "core/egraph/ids.h"

namespace quotient::egraph {

namespace hash_internal {

inline uint64_t Start(OpId op) { return op.value() * 0x9e3779b97f4a7c15u; }
inline uint64_t Mix(uint64_t hash, ClassId child) {
  hash = (hash ^ child.value()) * 0xbf58476d1ce4e5b9u;
  return hash ^ hash >> 29;
}
inline uint32_t Finish(uint64_t hash) {
  return static_cast<uint32_t>((hash * 0x94d049bb133111ebu) >> 32);
}

}  // namespace hash_internal

// For at most two children; pass an invalid id where there is none.
inline uint32_t ContentHash(OpId op, ClassId first, ClassId second) {
  using namespace hash_internal;
  return Finish(Mix(Mix(Start(op), first), second));
}

inline uint32_t ContentHash(OpId op, std::span<const ClassId> children) {
  using namespace hash_internal;
  if (children.empty()) return ContentHash(op, ClassId(), ClassId());
  if (children.size() == 1) return ContentHash(op, children[0], ClassId());
  uint64_t hash = Start(op);
  for (const ClassId child : children) hash = Mix(hash, child);
  return Finish(hash);
}

}  // namespace quotient::egraph
