#include "core/egraph/hash_cons.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/rng.h"

namespace quotient::egraph {
namespace {

constexpr auto kAny = [](ENodeId) { return true; };

void MakeRoom(HashCons& table, const std::map<ENodeId, uint32_t>& content, Rng& rng) {
  if (!table.full()) return;
  if (rng.Below(2) == 0) {
    table.Grow(table.used() + 1 + static_cast<uint32_t>(rng.Below(4 * table.used())));
    ASSERT_FALSE(table.full());
    return;
  }
  table.Clean(static_cast<uint32_t>(content.size()));
  for (const auto& [id, hash] : content) table.Insert(hash, id);
}

TEST(HashCons, FindsByHashAndEquality) {
  Trail trail;
  HashCons table(&trail);
  table.Insert(7, ENodeId(1));
  table.Insert(7, ENodeId(2));
  EXPECT_EQ(table.Find(7, [](ENodeId id) { return id == ENodeId(2); }), ENodeId(2));
  EXPECT_FALSE(table.Find(8, kAny).valid());
  EXPECT_FALSE(table.Find(7, [](ENodeId) { return false; }).valid());
}

TEST(HashCons, ReplaceKeepsThePlace) {
  Trail trail;
  HashCons table(&trail);
  table.Insert(7, ENodeId(1));
  table.Replace(7, ENodeId(1), ENodeId(9));
  EXPECT_EQ(table.Find(7, kAny), ENodeId(9));
  EXPECT_EQ(table.used(), 1u);
}

// Few different hashes, close to each other and at the end of the table: long runs that wrap. What
// was inserted under a mark is gone after the rollback, also if the table grew.
TEST(HashCons, AgreesWithAMapUnderRandomInsertsAndRollbacks) {
  Rng rng(1);
  for (int round = 0; round < 20; ++round) {
    Trail trail;
    HashCons table(&trail);
    std::map<ENodeId, uint32_t> expected;
    std::map<ENodeId, uint32_t> at_mark;
    const uint32_t hash_at = (64u << rng.Below(4)) - 4;  // of some size the end of the table
    for (uint32_t i = 0; i < 300; ++i) {
      if (rng.Below(40) == 0) {
        if (trail.active()) {
          trail.Rollback();
          expected = at_mark;
        } else {
          trail.Mark();
          at_mark = expected;
        }
      }
      MakeRoom(table, expected, rng);
      const uint32_t hash = hash_at + static_cast<uint32_t>(rng.Below(8));
      table.Insert(hash, ENodeId(i));
      expected[ENodeId(i)] = hash;
      ASSERT_EQ(table.used(), expected.size());
      for (const auto& [id, hash] : expected) {
        ASSERT_EQ(table.Find(hash, [id = id](ENodeId other) { return other == id; }), id);
      }
    }
  }
}

}  // namespace
}  // namespace quotient::egraph
