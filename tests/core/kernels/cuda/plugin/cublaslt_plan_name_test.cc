// Names of cuBLASLt's algorithms. What an algorithm is made of only cuBLASLt knows, and it makes
// none without a GPU: here they are bytes that mean nothing.

#include "core/kernels/cuda/plugin/cublaslt_plan_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using ::quotient::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The last of its bytes are part of no field.
cublasLtMatmulAlgo_t Algorithm(uint64_t end) {
  cublasLtMatmulAlgo_t algorithm = {};
  std::memcpy(reinterpret_cast<char*>(&algorithm) + sizeof(algorithm) - sizeof(end), &end,
              sizeof(end));
  return algorithm;
}

TEST(MatmulPlanNameTest, TheSameAlgorithmHasTheSameName) {
  const std::vector<cublasLtMatmulAlgo_t> algorithms = {Algorithm(0), Algorithm(0)};
  const auto names = MatmulPlanNames(algorithms);
  EXPECT_EQ(names[0], names[1]);
  EXPECT_THAT(names[0], StartsWith("algo=0,tile="));
}

TEST(MatmulPlanNameTest, AlgorithmsThatDifferInNoFieldHaveDifferentNames) {
  const std::vector<cublasLtMatmulAlgo_t> algorithms = {Algorithm(1), Algorithm(2), Algorithm(3),
                                                        Algorithm(2)};
  const auto names = MatmulPlanNames(algorithms);
  EXPECT_THAT(names[0], ::testing::Not(HasSubstr("bytes=")));
  EXPECT_THAT(names[1], StartsWith(names[0] + ",bytes="));
  EXPECT_THAT(names[2], StartsWith(names[0] + ",bytes="));
  EXPECT_NE(names[1], names[2]);
  EXPECT_EQ(names[1], names[3]);
  // Nobody can make an algorithm of it.
  EXPECT_THAT(ParseMatmulPlanName(names[1]), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(MatmulPlanNameTest, CollisionsAreLogged) {
  const auto logged = [](const std::vector<cublasLtMatmulAlgo_t>& algorithms) {
    ::testing::internal::CaptureStderr();
    WarnOfCollisions(MatmulPlanNames(algorithms));
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(logged({Algorithm(1), Algorithm(1)}), "");
  EXPECT_THAT(logged({Algorithm(1), Algorithm(2)}), HasSubstr("warning cuBLASLt: algo=0,tile="));
}

TEST(MatmulPlanNameTest, NamesAreReadAsTheyAreWritten) {
  const auto parsed = ParseMatmulPlanName(
      "algo=66,tile=18,stages=35,splitk=1,reduction=0,swizzle=0,option=1,inner=0,cluster=7");
  ASSERT_OK(parsed);
  ASSERT_EQ(parsed->size(), 9u);
  EXPECT_EQ(parsed->front().value, 66u);
  EXPECT_STREQ(parsed->back().field->name, "cluster");
  EXPECT_EQ(parsed->back().value, 7u);
}

TEST(MatmulPlanNameTest, OtherTextsAreNone) {
  for (const char* text : {"", "algo=1", "exact",
                           "algo=x,tile=0,stages=0,splitk=0,reduction=0,"
                           "swizzle=0,option=0,inner=0,cluster=0"}) {
    EXPECT_THAT(ParseMatmulPlanName(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
}

}  // namespace
}  // namespace quotient::kernels::cuda
