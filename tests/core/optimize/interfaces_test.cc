#include "core/optimize/interfaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/graphs.h"

namespace quotient::optimize {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

onnx::Model Model(absl::string_view lines) {
  onnx::Model model;
  model.graph = testing::MustParse(absl::StrCat("graph g {\n", lines, "\n}"));
  return model;
}

std::vector<std::string> Differences(absl::string_view first, absl::string_view second) {
  return InterfaceDifferences(Model(first), Model(second));
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

// The second input may be left out if it has a default.
class DefaultsTest : public ::testing::Test {
 protected:
  static onnx::Model WithDefault(std::optional<float> number) {
    onnx::Model model = Model(R"(
        input x: float32[2]
        input w: float32[]
        y = Mul(x, w)
        output y)");
    if (number.has_value()) model.graph.defaults[1] = model::Tensor::Scalar(*number);
    return model;
  }
  static std::vector<std::string> Differences(std::optional<float> first,
                                              std::optional<float> second) {
    return InterfaceDifferences(WithDefault(first), WithDefault(second));
  }
};

TEST_F(DefaultsTest, AreTheSame) {
  EXPECT_THAT(Differences(1, 1), IsEmpty());
  EXPECT_THAT(Differences(1, 2), ElementsAre("input 'w' is [2] by default, but should be [1]"));
}

TEST_F(DefaultsTest, MayBeAddedButNotRemoved) {
  EXPECT_THAT(Differences({}, 1), IsEmpty());
  EXPECT_THAT(Differences(1, {}), ElementsAre("input 'w' has no default, but should have one"));
}

TEST_F(DefaultsTest, MakeOtherInputsUnused) {
  const onnx::Model first = Model("input x: float32[2]\n y = Neg(x)\n output y");
  EXPECT_THAT(InterfaceDifferences(first, WithDefault(1)), IsEmpty());
  EXPECT_THAT(UnusedInputs(first.graph, WithDefault(1).graph), ElementsAre("w"));
  EXPECT_THAT(UnusedInputs(first.graph, WithDefault({}).graph), IsEmpty());
  EXPECT_THAT(UnusedInputs(WithDefault(1).graph, WithDefault(1).graph), IsEmpty());
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
