#include "core/optimize/interfaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/graphs.h"

namespace quotient::optimize {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Differences(absl::string_view first, absl::string_view second) {
  const auto graph = [](absl::string_view lines) {
    return testing::MustParse(absl::StrCat("graph g {\n", lines, "\n}"));
  };
  return InterfaceDifferences(graph(first), graph(second));
}

constexpr char kFirst[] = R"(
  input x: float32[N,4]
  input m: bool[4]
  y = Relu(x)
  z = Neg(x)
  output y
  output z)";

TEST(InterfaceDifferences, AModelFitsItself) {
  EXPECT_THAT(Differences(kFirst, kFirst), IsEmpty());
}

TEST(InterfaceDifferences, WhatIsMissingIsNamed) {
  EXPECT_THAT(Differences(kFirst, R"(
      input x: float32[N,4]
      y = Relu(x)
      output y)"),
              ElementsAre("it has no input 'm'", "it has no output 'z'"));
}

TEST(InterfaceDifferences, WhatIsTooMuchIsNamed) {
  EXPECT_THAT(Differences(kFirst, R"(
      input x: float32[N,4]
      input m: bool[4]
      input more: float32[4]
      y = Relu(x)
      z = Neg(x)
      a = Abs(more)
      output y
      output z
      output a)"),
              ElementsAre("it needs an input 'more'", "it has an output 'a' too many"));
}

TEST(InterfaceDifferences, AnInputMayTakeMoreButNotLess) {
  const auto with = [](absl::string_view type) {
    return absl::StrCat("input x: ", type, "\n y = Relu(x)\n output y");
  };
  EXPECT_THAT(Differences(with("float32[2,4]"), with("float32[N,4]")), IsEmpty());
  EXPECT_THAT(Differences(with("float32[N,4]"), with("float32[M,4]")), IsEmpty());
  EXPECT_THAT(Differences(with("float32[N,4]"), with("float32[2,4]")),
              ElementsAre("input 'x' is float32[2,4], but should be float32[N,4]"));
  EXPECT_THAT(Differences(with("float32[N,4]"), with("float16[N,4]")),
              ElementsAre(HasSubstr("float16")));
  EXPECT_THAT(Differences(with("float32[N,4]"), with("float32[N,4,1]")),
              ElementsAre(HasSubstr("float32[N,4,1]")));
}

TEST(InterfaceDifferences, TheOrderCounts) {
  EXPECT_THAT(
      Differences(kFirst, R"(
      input m: bool[4]
      input x: float32[N,4]
      y = Relu(x)
      z = Neg(x)
      output z
      output y)"),
      ElementsAre("its inputs are in the order 'm', 'x', but should be in the order 'x', 'm'",
                  "its outputs are in the order 'z', 'y', but should be in the order 'y', 'z'"));
}

}  // namespace
}  // namespace quotient::optimize
