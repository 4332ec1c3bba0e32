#pragma once

// MatchMemory: remembers which matches were seen, so that each is applied once. It stores hashes of
// matches instead of matches.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/base/sequence_hash.h"
#include "core/egraph/rule.h"

namespace quotient::search {

class MatchMemory {
 public:
  using Key = SequenceHash::Value;

  // Matches found in a clean graph are canonical. A match whose classes have been merged since has
  // a new key.
  static Key KeyOf(size_t rule, const egraph::Match& match);

  bool Contains(Key key) const { return seen_.contains(key); }
  void Insert(Key key) {
    if (seen_.insert(key).second && !marks_.empty()) added_.push_back(key);
  }

  // To be called together with the e-graph's functions of these names.
  void Mark() { marks_.push_back(added_.size()); }
  void Rollback();
  void Forget();

 private:
  absl::flat_hash_set<Key> seen_;
  std::vector<Key> added_;     // Keys inserted since the first mark.
  std::vector<size_t> marks_;  // Sizes of added_ at the marks.
};

}  // namespace quotient::search
