// Timing stores in memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/timing/store.h"
#include "tests/core/timing/made_timing.h"
#include "tests/support/status_matchers.h"

namespace quotient::timing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(MemoryStoreTest, TheSmallerMinimumCounts) {
  const auto store = NewMemoryStore();
  EXPECT_EQ(store->Find("k", "f"), std::nullopt);
  ASSERT_OK(store->Add("k", "f", Ok(5)));
  ASSERT_OK(store->Add("k", "f", Ok(7)));
  EXPECT_EQ(store->Find("k", "f"), Ok(5));
  ASSERT_OK(store->Add("k", "f", Ok(3)));
  EXPECT_EQ(store->Find("k", "f"), Ok(3));
  EXPECT_EQ(store->Find("k", "g"), std::nullopt);
}

TEST(MemoryStoreTest, ATimeDisplacesAFailure) {
  const auto store = NewMemoryStore();
  ASSERT_OK(store->Add("k", "f", {TimingState::kUnsupported}));
  EXPECT_EQ(store->Find("k", "f")->state, TimingState::kUnsupported);
  ASSERT_OK(store->Add("k", "f", Ok(3)));
  ASSERT_OK(store->Add("k", "f", {TimingState::kUnsupported}));
  EXPECT_EQ(store->Find("k", "f"), Ok(3));
}

// A kernel that was timed among disturbances may look faster than it is: such a time is a guess
// from the CPU time.
TEST(MemoryStoreTest, ACleanTimeDisplacesANoisyOneThatIsSmaller) {
  Timing noisy = Ok(2);
  noisy.state = TimingState::kNoisy;
  for (const bool clean_first : {false, true}) {
    const auto store = NewMemoryStore();
    ASSERT_OK(store->Add("k", "f", clean_first ? Ok(3) : noisy));
    ASSERT_OK(store->Add("k", "f", clean_first ? noisy : Ok(3)));
    EXPECT_EQ(store->Find("k", "f"), Ok(3));
  }
}

TEST(MemoryStoreTest, AllIsWhatIsKnownOfOneDevice) {
  const auto store = NewMemoryStore();
  EXPECT_TRUE(store->All("f").empty());
  ASSERT_OK(store->Add("k2", "f", Ok(5)));
  ASSERT_OK(store->Add("k1", "f", Ok(7)));
  ASSERT_OK(store->Add("k1", "f", Ok(6)));
  ASSERT_OK(store->Add("k3", "g", Ok(1)));
  EXPECT_THAT(store->All("f"), ElementsAre(Pair("k1", Ok(6)), Pair("k2", Ok(5))));
}

}  // namespace
}  // namespace quotient::timing
