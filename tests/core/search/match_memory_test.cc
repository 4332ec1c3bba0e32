#include "core/search/match_memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/container/flat_hash_set.h"

namespace quotient::search {
namespace {

using egraph::ClassId;
using egraph::Match;
using egraph::OpId;

TEST(MatchMemory, RemembersWhatWasInserted) {
  MatchMemory memory;
  const MatchMemory::Key key = MatchMemory::KeyOf(1, {{ClassId(2)}, {}});
  EXPECT_FALSE(memory.Contains(key));
  memory.Insert(key);
  EXPECT_TRUE(memory.Contains(key));
}

TEST(MatchMemory, KeysDifferByRuleByPartAndByOrder) {
  const std::vector<MatchMemory::Key> keys = {
      MatchMemory::KeyOf(1, {{ClassId(2), ClassId(3)}, {}}),
      MatchMemory::KeyOf(2, {{ClassId(2), ClassId(3)}, {}}),
      MatchMemory::KeyOf(1, {{ClassId(3), ClassId(2)}, {}}),
      MatchMemory::KeyOf(1, {{ClassId(2)}, {OpId(3)}}),
      MatchMemory::KeyOf(1, {{ClassId(2)}, {}}),
      MatchMemory::KeyOf(1, {{}, {OpId(2), OpId(3)}}),
      MatchMemory::KeyOf(1, {{}, {}}),
      MatchMemory::KeyOf(1, {{ClassId(0)}, {}}),
      MatchMemory::KeyOf(1, {{ClassId(0), ClassId(0)}, {}}),
  };
  const absl::flat_hash_set<MatchMemory::Key> different(keys.begin(), keys.end());
  EXPECT_EQ(different.size(), keys.size());
  EXPECT_EQ(MatchMemory::KeyOf(1, {{ClassId(2), ClassId(3)}, {}}), keys[0]);
}

TEST(MatchMemory, ManySmallMatchesHaveDifferentKeys) {
  absl::flat_hash_set<MatchMemory::Key> keys;
  for (uint32_t a = 0; a < 300; ++a) {
    for (uint32_t b = 0; b < 300; ++b) {
      keys.insert(MatchMemory::KeyOf(0, {{ClassId(a), ClassId(b)}, {}}));
    }
  }
  EXPECT_EQ(keys.size(), 90'000u);
}

}  // namespace
}  // namespace quotient::search
