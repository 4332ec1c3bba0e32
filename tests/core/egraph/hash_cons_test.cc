#include "core/egraph/hash_cons.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/rng.h"

namespace quotient::egraph {
namespace {

constexpr auto kAny = [](ENodeId) { return true; };

TEST(HashCons, FindsByHashAndEquality) {
  HashCons table;
  table.Insert(7, ENodeId(1));
  table.Insert(7, ENodeId(2));
  EXPECT_EQ(table.Find(7, [](ENodeId id) { return id == ENodeId(2); }), ENodeId(2));
  EXPECT_FALSE(table.Find(8, kAny).valid());
  EXPECT_FALSE(table.Find(7, [](ENodeId) { return false; }).valid());
}

TEST(HashCons, ReplaceKeepsThePlace) {
  HashCons table;
  table.Insert(7, ENodeId(1));
  table.Replace(7, ENodeId(1), ENodeId(9));
  EXPECT_EQ(table.Find(7, kAny), ENodeId(9));
  EXPECT_EQ(table.size(), 1u);
}

// Few different hashes, close to each other and at the end of the table: long runs that wrap.
TEST(HashCons, AgreesWithAMapUnderRandomInsertsAndErases) {
  Rng rng(1);
  for (int round = 0; round < 20; ++round) {
    HashCons table;
    std::map<ENodeId, uint32_t> expected;
    for (uint32_t i = 0; i < 300; ++i) {
      if (!expected.empty() && rng.Below(2) == 0) {
        auto victim = expected.begin();
        std::advance(victim, rng.Below(expected.size()));
        table.Erase(victim->second, victim->first);
        expected.erase(victim);
      } else {
        const uint32_t hash = static_cast<uint32_t>(60 + rng.Below(8));
        table.Insert(hash, ENodeId(i));
        expected[ENodeId(i)] = hash;
      }
      ASSERT_EQ(table.size(), expected.size());
      for (const auto& [id, hash] : expected) {
        ASSERT_EQ(table.Find(hash, [id = id](ENodeId other) { return other == id; }), id);
      }
    }
  }
}

}  // namespace
}  // namespace quotient::egraph
