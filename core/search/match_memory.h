#pragma once

// Which matches were seen already, so that each is applied once. Remembers fingerprints, not
// matches.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/base/fingerprint.h"
#include "core/egraph/rule.h"

namespace quotient::search {

class MatchMemory {
 public:
  using Key = Fingerprint::Value;

  // Matches of a clean graph are canonical; one whose classes have merged since has a new key.
  static Key KeyOf(size_t rule, const egraph::Match& match);

  bool Contains(Key key) const { return seen_.contains(key); }
  void Insert(Key key) {
    if (seen_.insert(key).second && !marks_.empty()) added_.push_back(key);
  }

  // Together with the e-graph's marks.
  void Mark() { marks_.push_back(added_.size()); }
  void Rollback();
  void Forget();

 private:
  absl::flat_hash_set<Key> seen_;
  std::vector<Key> added_;     // since the first mark
  std::vector<size_t> marks_;  // sizes of added_
};

}  // namespace quotient::search
