#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <set>
#include <vector>

#include "core/base/blob_id.h"
#include "core/base/checked.h"
#include "core/base/clock.h"
#include "core/base/counted.h"
#include "core/base/digest.h"
#include "core/base/float16.h"
#include "core/base/ids.h"
#include "core/base/log.h"
#include "core/base/parallel.h"
#include "core/base/reason.h"
#include "core/base/rng.h"
#include "core/base/stop.h"

namespace quotient {
namespace {

class ManualClock : public Clock {
 public:
  int64_t NowNs() const override { return now_ns; }
  int64_t UnixMs() const override { return now_ns / 1'000'000; }
  int64_t now_ns = 0;
};

TEST(ReasonTest, TravelsThroughAnnotation) {
  const absl::Status status =
      Annotate(MakeError(Reason::kLimitDims, "dim 3 is too large"), "node 'a'");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "node 'a': dim 3 is too large");
  EXPECT_EQ(GetReason(status), Reason::kLimitDims);
}

TEST(ReasonTest, NamesAreUniqueAndReadBack) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Reason::kInternal); ++i) {
    const Reason reason = static_cast<Reason>(i);
    EXPECT_TRUE(names.insert(std::string(ReasonName(reason))).second) << ReasonName(reason);
    EXPECT_EQ(ReasonFromName(ReasonName(reason)), reason);
    EXPECT_NE(ReasonCode(reason), absl::StatusCode::kOk);
  }
  EXPECT_EQ(ReasonFromName("NO_SUCH_REASON"), std::nullopt);
  EXPECT_EQ(GetReason(absl::InternalError("plain")), std::nullopt);
}

TEST(BlobIdTest, TextIsReadBackAndIsTheOnlyOne) {
  const BlobId id = BlobId::Of("hello");
  EXPECT_EQ(id.size_bytes, 5);
  EXPECT_EQ(BlobId::FromText(id.Text()), id);
  const std::string hex = id.digest.Hex();
  for (const std::string& other : std::vector<std::string>{
           "", hex, hex + "/", "/5", hex + "/-5", hex + "/+5", hex + "/05", hex + "/5 ",
           hex.substr(1) + "/5", hex + "/5/5", hex + "/99999999999999999999"}) {
    EXPECT_EQ(BlobId::FromText(other), std::nullopt) << other;
  }
}

TEST(CheckedTest, RefusesOverflowAndNegative) {
  constexpr int64_t kBig = int64_t{1} << 40;
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{kBig, kBig}), std::nullopt);
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{kBig, kBig, 0}), 0);
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{2, -1}), std::nullopt);
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{}), 1);
  EXPECT_EQ(CheckedAdd(std::numeric_limits<int64_t>::max(), 1), std::nullopt);
}

TEST(DigestTest, KnownValueAndHexRoundTrip) {
  const Digest digest = Digest::Of(absl::string_view("abc"));
  EXPECT_EQ(digest.Hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Digest::FromHex(digest.Hex()), digest);
  EXPECT_EQ(Digest::FromHex("ba78"), std::nullopt);
  EXPECT_EQ(Digest::FromHex(std::string(64, 'G')), std::nullopt);
}

TEST(DigestTest, StreamEqualsWhole) {
  Digester digester;
  digester.Update(absl::string_view("a"));
  digester.Update(absl::string_view("bc"));
  EXPECT_EQ(digester.Finish(), Digest::Of(absl::string_view("abc")));
}

TEST(Float16Test, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = Float16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(Float16ToFloat(FloatToFloat16(value))));
    } else {
      ASSERT_EQ(FloatToFloat16(value), bits) << value;
    }
  }
}

TEST(Float16Test, RoundsHalfToEvenAndOverflowsToInfinity) {
  EXPECT_EQ(Float16ToFloat(FloatToFloat16(2049.0f)), 2048.0f);
  EXPECT_EQ(Float16ToFloat(FloatToFloat16(2051.0f)), 2052.0f);
  EXPECT_EQ(Float16ToFloat(FloatToFloat16(65519.0f)), 65504.0f);
  EXPECT_TRUE(std::isinf(Float16ToFloat(FloatToFloat16(65520.0f))));
  EXPECT_EQ(Float16ToFloat(FloatToFloat16(0x1p-25f)), 0.0f);
  EXPECT_EQ(Float16ToFloat(FloatToFloat16(0x1.8p-25f)), 0x1p-24f);
}

TEST(Float16Test, BrainFloatRoundsHalfToEven) {
  EXPECT_EQ(Bfloat16ToFloat(FloatToBfloat16(1.0f)), 1.0f);
  EXPECT_EQ(FloatToBfloat16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
  EXPECT_EQ(FloatToBfloat16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_TRUE(std::isnan(Bfloat16ToFloat(FloatToBfloat16(std::nanf("")))));
}

// 1 + 2^-11 is half-way between two halves, 1 + 2^-8 between two brain floats; a little more than
// that is nearer to the upper one, and float cannot tell the little.
TEST(Float16Test, DoublesRoundOnce) {
  EXPECT_EQ(DoubleToFloat16(1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(DoubleToFloat16(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(DoubleToFloat16(-(1 + 0x1p-11 + 0x1p-40)), 0xbc01);
  EXPECT_EQ(DoubleToFloat16(1 + 3 * 0x1p-11 - 0x1p-40), 0x3c01);
  EXPECT_EQ(DoubleToFloat16(0x1p-25 + 0x1p-60), 0x0001);  // subnormal
  EXPECT_EQ(DoubleToFloat16(1e-300), 0x0000);
  EXPECT_EQ(DoubleToFloat16(65520 - 0x1p-30), 0x7bff);
  EXPECT_EQ(DoubleToFloat16(-1e300), 0xfc00);
  EXPECT_TRUE(std::isnan(Float16ToFloat(DoubleToFloat16(std::nan("")))));
  EXPECT_EQ(DoubleToBfloat16(1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(DoubleToBfloat16(1 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(DoubleToBfloat16(1e300), 0x7f80);
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    ASSERT_EQ(DoubleToFloat16(Float16ToFloat(static_cast<uint16_t>(bits))), bits);
  }
}

TEST(RngTest, KnownStreamOnEveryMachine) {
  Rng a(1), b(1), other_stream(1, 1);
  const uint64_t first = a.Next();
  EXPECT_EQ(first, b.Next());
  EXPECT_NE(first, other_stream.Next());
  for (int i = 0; i < 1000; ++i) {
    const double value = a.Uniform(-2, 3);
    EXPECT_GE(value, -2);
    EXPECT_LT(value, 3);
    EXPECT_LT(a.Below(7), 7u);
  }
}

TEST(StopTest, TokenAndDeadline) {
  ManualClock clock;
  CancelToken token;
  const StopCondition never;
  EXPECT_FALSE(never.ShouldStop());
  const StopCondition stop = StopCondition(&token).WithBudget(clock, 2.0);
  EXPECT_EQ(stop.Check(), StopReason::kNone);
  clock.now_ns = 2'000'000'000;
  EXPECT_EQ(stop.Check(), StopReason::kDeadline);
  EXPECT_FALSE(stop.cancelled());
  token.Cancel();
  EXPECT_EQ(stop.Check(), StopReason::kCancelled);
}

TEST(StopTest, OnlyBudgetsHeedARequestToFinish) {
  ManualClock clock;
  CancelToken token;
  const StopCondition whole = StopCondition::Within(&token, clock, 10);
  const StopCondition budget = whole.WithBudget(clock, 1e12);
  const StopCondition parts[] = {budget, budget.Share(3), budget.EarlierBy(1)};
  const StopCondition late = budget.WithoutDeadline().WithBudget(clock, 5);
  for (const StopCondition& part : parts) EXPECT_EQ(part.Check(), StopReason::kNone);
  token.Finish(clock);
  for (const StopCondition& part : parts) EXPECT_EQ(part.Check(), StopReason::kDeadline);
  EXPECT_EQ(whole.Check(), StopReason::kNone);
  EXPECT_EQ(late.Check(), StopReason::kNone);
  EXPECT_TRUE(whole.finishing());
  clock.now_ns = 10'000'000'000;
  EXPECT_EQ(whole.Check(), StopReason::kDeadline);
}

TEST(StopTest, NestedBudgetNeverExtends) {
  ManualClock clock;
  const StopCondition outer = StopCondition().WithBudget(clock, 1.0);
  const StopCondition inner = outer.WithBudget(clock, 5.0);
  clock.now_ns = 1'000'000'000;
  EXPECT_TRUE(inner.ShouldStop());
}

TEST(StopTest, SomeTimeCanBeKeptBack) {
  ManualClock clock;
  EXPECT_FALSE(StopCondition().EarlierBy(1e6).ShouldStop());
  const StopCondition earlier = StopCondition().WithBudget(clock, 4.0).EarlierBy(1.5);
  clock.now_ns = 2'499'999'999;
  EXPECT_FALSE(earlier.ShouldStop());
  clock.now_ns = 2'500'000'000;
  EXPECT_EQ(earlier.Check(), StopReason::kDeadline);
}

TEST(StopTest, SharesAreOfTheTimeThatIsLeft) {
  ManualClock clock;
  EXPECT_FALSE(StopCondition().Share(2).ShouldStop());
  const StopCondition whole = StopCondition().WithBudget(clock, 4.0);
  clock.now_ns = 1'000'000'000;
  const StopCondition third = whole.Share(3);
  clock.now_ns = 1'999'999'999;
  EXPECT_FALSE(third.ShouldStop());
  clock.now_ns = 2'000'000'000;
  EXPECT_TRUE(third.ShouldStop());
  EXPECT_FALSE(whole.ShouldStop());
}

TEST(ParallelForTest, WhatABodyThrowsIsThrownHere) {
  for (int threads : {1, 4}) {
    EXPECT_THROW(ParallelFor(100, 1, threads,
                             [](int64_t begin, int64_t) {
                               if (begin % 10 == 0) throw std::bad_alloc();
                             }),
                 std::bad_alloc);
  }
}

TEST(ParallelForTest, CoversEveryItemOnceForAnyThreadCount) {
  for (int threads : {1, 2, 8}) {
    for (int64_t count : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> seen(count);
      ParallelFor(count, 3, threads, [&seen](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[i];
      });
      for (const auto& times : seen) ASSERT_EQ(times, 1);
    }
  }
}

TEST(IdsTest, DefaultIsInvalid) {
  using Id = StrongId<struct TestTag>;
  EXPECT_FALSE(Id().valid());
  EXPECT_TRUE(Id(0).valid());
  EXPECT_LT(Id(1), Id(2));
}

TEST(LogTest, EscapesAndShortens) {
  EXPECT_EQ(Escaped("'a'\nb\x01"), "'a'\\nb\\x01");
  EXPECT_EQ(Escaped(std::string(1000, 'x')).size(), 259u);
}

TEST(CountedTest, OnlyOneIsSingular) {
  EXPECT_EQ(Counted(0, "node"), "0 nodes");
  EXPECT_EQ(Counted(1, "node"), "1 node");
  EXPECT_EQ(Counted(2, "node"), "2 nodes");
}

}  // namespace
}  // namespace quotient
