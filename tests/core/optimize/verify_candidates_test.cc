#include "core/optimize/verify_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/core/optimize/stage_fixture.h"

namespace quotient::optimize {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kModel[] =
    "g (float[8,16] x) => (float[8,16] y) { a = Softmax(x) b = Transpose(a) y = Transpose(b) }";
constexpr char kRight[] = "g (float[8,16] x) => (float[8,16] y) { y = Softmax(x) }";
constexpr char kWrong[] = "g (float[8,16] x) => (float[8,16] y) { y = Relu(x) }";

class VerifyCandidatesTest : public StageTest {
 protected:
  VerifyCandidatesTest() { ReadAndPredict(kModel); }

  absl::StatusOr<VerifiedCandidates> Verify(PackagedCandidates packaged) {
    return VerifyCandidates(*job_, *baseline_, std::move(packaged));
  }
  PackagedCandidates Only(absl::string_view graph_text) {
    PackagedCandidates packaged;
    packaged.written.push_back(PackageOf(graph_text));
    packaged.seconds = 4;
    return packaged;
  }
};

TEST_F(VerifyCandidatesTest, WithoutCandidatesNothingIsEvaluated) {
  ASSERT_OK_AND_ASSIGN(const VerifiedCandidates verified, Verify({}));
  EXPECT_EQ(verified.checker, nullptr);
  EXPECT_THAT(verified.agreeing, IsEmpty());
  EXPECT_OK(verified.unchecked);
}

// Time stands still, so checking takes none.
TEST_F(VerifyCandidatesTest, WhatAgreesIsKept) {
  ASSERT_OK_AND_ASSIGN(const VerifiedCandidates verified, Verify(Only(kRight)));
  ASSERT_THAT(verified.agreeing, SizeIs(1));
  EXPECT_TRUE(verified.agreeing[0].verdict.passed);
  EXPECT_NE(verified.checker, nullptr);
  EXPECT_FALSE(verified.rescued.has_value());
  EXPECT_EQ(verified.seconds_per_candidate, 4);
}

TEST_F(VerifyCandidatesTest, WhatIsRefusedIsRescued) {
  PackagedCandidates packaged = Only(kWrong);
  packaged.applied = {"transpose-transpose"};
  ASSERT_OK_AND_ASSIGN(const VerifiedCandidates verified, Verify(std::move(packaged)));
  EXPECT_THAT(verified.agreeing, IsEmpty());
  ASSERT_TRUE(verified.rescued.has_value());
  EXPECT_THAT(verified.rescued->refused, SizeIs(1));
  EXPECT_FALSE(verified.rescued->time_was_up);
}

TEST_F(VerifyCandidatesTest, WhatCannotBeWrittenIsRescuedToo) {
  PackagedCandidates packaged;
  packaged.failures.push_back(absl::InternalError("a value has no name"));
  ASSERT_OK_AND_ASSIGN(const VerifiedCandidates verified, Verify(std::move(packaged)));
  ASSERT_TRUE(verified.rescued.has_value());
  EXPECT_THAT(verified.rescued->refused, IsEmpty());
}

TEST_F(VerifyCandidatesTest, ACancelledJobFails) {
  PackagedCandidates packaged = Only(kRight);
  token_.Cancel();
  EXPECT_TRUE(absl::IsCancelled(Verify(std::move(packaged)).status()));
}

// What was measured meanwhile counts.
TEST_F(VerifyCandidatesTest, CostsAreThoseOfThePresent) {
  ASSERT_OK_AND_ASSIGN(VerifiedCandidates verified, Verify(Only(kRight)));
  const double known_us = verified.agreeing[0].packaged.cost.total_us;
  cost::GraphCost& cost = verified.agreeing[0].packaged.cost;
  cost.costs[0].us = cost.total_us = 1e9;
  verified = AtPresent(std::move(verified), baseline_->costs());
  EXPECT_EQ(verified.agreeing[0].packaged.cost.total_us, known_us);
  EXPECT_EQ(verified.agreeing[0].packaged.cost.costs.size(), 1u);
}

}  // namespace
}  // namespace quotient::optimize
