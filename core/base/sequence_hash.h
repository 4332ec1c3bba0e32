#pragma once

// SequenceHash reduces a sequence of words to 128 bits, to remember sequences without storing them.
// Among 10^7 different sequences two agree by accident with probability 10^-25. It does not
// withstand sequences chosen by an attacker. Not stable between versions, so it must never be
// stored.
//
//   SequenceHash hash;
//   hash.Add(rule);
//   seen.insert(hash.value());

#include <cstdint>

#include "absl/numeric/int128.h"

namespace quotient {

class SequenceHash {
 public:
  using Value = absl::uint128;

  // Two independent multiply-xorshift chains over the same words.
  void Add(uint64_t word) {
    low_ = Mix((low_ ^ word) * 0xbf58476d1ce4e5b9u);
    high_ = Mix((high_ + word) * 0x94d049bb133111ebu);
  }
  Value value() const { return absl::MakeUint128(high_, low_); }

 private:
  static uint64_t Mix(uint64_t x) { return x ^ (x >> 31); }

  uint64_t low_ = 0x9e3779b97f4a7c15u;
  uint64_t high_ = 0xd1b54a32d192ed03u;
};

}  // namespace quotient
