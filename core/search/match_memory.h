#pragma once

// Which matches were seen already, so that a saturation loop applies each once. Remembers 128-bit
// fingerprints, not matches: 10^7 of them agree by accident with probability 10^-25.

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "core/egraph/rule.h"

namespace quotient::search {

class MatchMemory {
 public:
  using Key = absl::uint128;

  // Matches of a clean graph are canonical; one whose classes have merged since has a new key.
  static Key KeyOf(size_t rule, const egraph::Match& match);

  bool Contains(Key key) const { return seen_.contains(key); }
  void Insert(Key key) { seen_.insert(key); }

 private:
  absl::flat_hash_set<Key> seen_;
};

}  // namespace quotient::search
