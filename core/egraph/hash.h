#pragma once

// The hash of an e-node's content.

#include <cstdint>
#include <span>

#include "core/egraph/ids.h"

namespace quotient::egraph {

inline uint32_t HashOf(OpId op, std::span<const ClassId> children) {
  uint64_t hash = op.value() * 0x9e3779b97f4a7c15u;
  for (ClassId child : children) {
    hash = (hash ^ child.value()) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 29;
  }
  return static_cast<uint32_t>((hash * 0x94d049bb133111ebu) >> 32);
}

}  // namespace quotient::egraph
