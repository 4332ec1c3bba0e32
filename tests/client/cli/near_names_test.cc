#include "client/cli/near_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quotient::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kNames = {"max-relu", "max-of-relus", "relu-max", "mul-one", "conv"};

TEST(NearNames, LettersMayBeWrong) {
  EXPECT_THAT(NearNames("max-rel", kNames), ElementsAre("max-relu"));
  EXPECT_THAT(NearNames("max-reelu", kNames), ElementsAre("max-relu"));
  EXPECT_THAT(NearNames("nax-relu", kNames), ElementsAre("max-relu"));
  EXPECT_THAT(NearNames("mxa-relu", kNames), ElementsAre("max-relu"));
  EXPECT_THAT(NearNames("cnov", kNames), ElementsAre("conv"));
}

TEST(NearNames, PartsAreNear) {
  EXPECT_THAT(NearNames("relu", kNames), ElementsAre("max-relu", "relu-max", "max-of-relus"));
  EXPECT_THAT(NearNames("relu", kNames, 1), ElementsAre("max-relu"));
  EXPECT_THAT(NearNames("mul-one-more", kNames), ElementsAre("mul-one"));
}

TEST(NearNames, OthersAreNot) {
  EXPECT_THAT(NearNames("transpose", kNames), IsEmpty());
  EXPECT_THAT(NearNames("", kNames), IsEmpty());
  EXPECT_THAT(NearNames("x", kNames), IsEmpty());
  EXPECT_THAT(NearNames("max-relu", {}), IsEmpty());
  EXPECT_THAT(NearNames(std::string(1000, 'x') + "max-relu", kNames), IsEmpty());
}

}  // namespace
}  // namespace quotient::cli
