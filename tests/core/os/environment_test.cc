#include "core/os/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quotient::os {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(EnvironmentTest, IsReadByName) {
  const char* const variables[] = {"HOME=/h", "EMPTY=", "SUM=a=b", "odd", "HOME=/other", nullptr};
  const Environment environment = ReadEnvironment(variables);
  EXPECT_THAT(environment, ElementsAre(Pair("EMPTY", ""), Pair("HOME", "/h"), Pair("SUM", "a=b")));
  EXPECT_EQ(ValueOf(environment, "HOME"), "/h");
  EXPECT_EQ(ValueOf(environment, "NONE"), "");
}

}  // namespace
}  // namespace quotient::os
