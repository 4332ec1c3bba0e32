#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/core/ops/one_node.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using testing::AttributesOf;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::Evaluated;
using testing::HasReason;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::Pointwise;
using testing::TypeOf;
using testing::ValuesOf;

auto Near(std::vector<double> values, double tolerance = 1e-12) {
  return Pointwise(DoubleNear(tolerance), values);
}

TEST(Softmax, AlongTheLastAxisByDefault) {
  EXPECT_THAT(ValuesOf(R"(const x: float64[2,2] = [0, 1.0986122886681098, 5, 5]
                          y = Softmax(x))"),
              Near({0.25, 0.75, 0.5, 0.5}));
}

TEST(Softmax, AlongAnyAxis) {
  const char* x = "const x: float64[2,3,70] = random(4)\n";
  const std::vector<double> values =
      testing::OneNode(absl::StrCat(x, "y = Relu(x)")).values[0].constant->AsDoubles();
  const int64_t dims[] = {2, 3, 70};
  const int64_t strides[] = {210, 70, 1};
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<double> expected;
    for (int64_t i = 0; i < 420; ++i) {
      const int64_t first = i - i / strides[axis] % dims[axis] * strides[axis];
      double sum = 0;
      for (int64_t k = 0; k < dims[axis]; ++k) sum += std::exp(values[first + k * strides[axis]]);
      expected.push_back(std::exp(values[i]) / sum);
    }
    for (int threads : {1, 3}) {
      EXPECT_THAT(ValuesOf(absl::StrCat(x, "y = Softmax(x) {axis=", axis, "}"), threads),
                  Near(expected));
    }
    for (double& value : expected) value = std::log(value);
    EXPECT_THAT(ValuesOf(absl::StrCat(x, "y = LogSoftmax(x) {axis=", axis, "}")), Near(expected));
  }
}

// Lines are computed in blocks, which these lengths end in the midst of.
TEST(Softmax, LinesOfAnyLength) {
  for (const int length : {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 130}) {
    const std::string x = absl::StrCat("const x: float64[3,", length, "] = random(4)\n");
    const std::vector<double> values =
        testing::OneNode(absl::StrCat(x, "y = Relu(x)")).values[0].constant->AsDoubles();
    std::vector<double> expected;
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t first = i / length * length;
      double sum = 0;
      for (size_t k = first; k < first + length; ++k) sum += std::exp(values[k]);
      expected.push_back(std::exp(values[i]) / sum);
    }
    EXPECT_THAT(ValuesOf(absl::StrCat(x, "y = Softmax(x)")), Near(expected, 1e-15)) << length;
  }
}

TEST(Softmax, NaNAnywhereMakesItsLineNaN) {
  for (size_t at = 0; at < 19; ++at) {
    std::vector<std::string> numbers(19, "1");
    numbers[at] = "nan";
    EXPECT_THAT(ValuesOf(absl::StrCat("const x: float32[19] = [", absl::StrJoin(numbers, ", "),
                                      "]\ny = Softmax(x)")),
                Each(IsNan()))
        << at;
  }
}

TEST(Softmax, LargeNumbersDoNotOverflow) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[3] = [10000, 10000, -10000]
                          y = Softmax(x))"),
              ElementsAre(0.5, 0.5, 0));
  EXPECT_THAT(ValuesOf(R"(const x: float32[2] = [10000, 0]
                          y = LogSoftmax(x))"),
              ElementsAre(0, -10000));
  EXPECT_THAT(ValuesOf(R"(const x: float32[2] = [-inf, 0]
                          y = Softmax(x))"),
              ElementsAre(0, 1));
  EXPECT_THAT(ValuesOf(R"(const x: float32[2] = [-inf, -inf]
                          y = Softmax(x))"),
              Each(IsNan()));
}

TEST(Softmax, AxisIsCanonical) {
  EXPECT_EQ(AttributesOf("input x: float32[A,B,C]\ny = Softmax(x) {axis=-2}"), "{axis=1}");
  EXPECT_EQ(AttributesOf("input x: float32[A,B,C]\ny = Softmax(x) {axis=2}"), "");
  EXPECT_EQ(AttributesOf("input x: float32[A,B,C]\ny = Softmax(x) {axis=-1}"), "");
  EXPECT_EQ(TypeOf("input x: float32[A,B,C]\ny = Softmax(x)"), "float32[A,B,C]");
  EXPECT_THAT(testing::Inferred("input x: float32[A,B]\ny = Softmax(x) {axis=2}"),
              HasReason(Reason::kModelShape, HasSubstr("axis")));
}

TEST(LayerNormalization, OverTheTrailingAxes) {
  // Mean 2, deviations -1, 1.
  EXPECT_THAT(ValuesOf(R"(const x: float64[2,2] = [1, 3, 10, 10]
                          const s: float64[2] = [1, 10]
                          const b: float64[2] = [0, 100]
                          y = LayerNormalization(x, s, b) {epsilon=0.0})"),
              ::testing::Contains(::testing::IsNan()));  // no spread at all, no epsilon
  EXPECT_THAT(ValuesOf(R"(const x: float64[2,2] = [1, 3, 10, 10]
                          const s: float64[2] = [1, 10]
                          const b: float64[2] = [0, 100]
                          y = LayerNormalization(x, s, b) {epsilon=3.0})"),
              Near({-0.5, 105, 0, 100}));
  EXPECT_THAT(ValuesOf(R"(const x: float64[2,2] = [1, 3, 1, 3]
                          const s: float64[2,2] = [1, 1, 1, 2]
                          y = LayerNormalization(x, s) {axis=0, epsilon=0.0})"),
              Near({-1, 1, -1, 2}));
}

TEST(LayerNormalization, ScaleIsBroadcast) {
  EXPECT_THAT(ValuesOf(R"(const x: float64[2,2] = [1, 3, 1, 3]
                          const s: float64[2,1] = [1, 10]
                          const b: float64[1] = [5]
                          y = LayerNormalization(x, s, b) {epsilon=0.0})"),
              Near({4, 6, -5, 15}));
}

TEST(LayerNormalization, LargeOffsetsKeepTheirSpread) {
  // One-pass formulas in float lose this completely.
  EXPECT_THAT(ValuesOf(R"(const x: float32[4] = [1000000, 1000001, 1000002, 1000003]
                          const s: float32[4] = [1, 1, 1, 1]
                          y = LayerNormalization(x, s) {epsilon=0.0})"),
              Near({-1.5 / std::sqrt(1.25), -0.5 / std::sqrt(1.25), 0.5 / std::sqrt(1.25),
                    1.5 / std::sqrt(1.25)},
                   1e-6));
}

TEST(LayerNormalization, TypesAndRefusals) {
  EXPECT_EQ(AttributesOf("input x: float32[B,S,D]\ninput s: float32[D]\n"
                         "y = LayerNormalization(x, s) {axis=-1, epsilon=9.999999747378752e-06, "
                         "stash_type=1}"),
            "");
  EXPECT_EQ(AttributesOf("input x: float32[B,S,D]\ninput s: float32[S,D]\n"
                         "y = LayerNormalization(x, s) {axis=-2}"),
            "{axis=1}");
  EXPECT_EQ(TypeOf("input x: float32[B,S,D]\ninput s: float32[D]\ny = LayerNormalization(x, s)"),
            "float32[B,S,D]");
  EXPECT_THAT(TypeOf("input x: float32[2,3]\ninput s: float32[4]\ny = LayerNormalization(x, s)"),
              HasSubstr("broadcast"));
  EXPECT_THAT(TypeOf("input x: float32[2,3]\ninput s: float32[5,2,3]\n"
                     "y = LayerNormalization(x, s)"),
              HasSubstr("broadcast"));
}

TEST(RmsNormalization, AroundZero) {
  EXPECT_THAT(ValuesOf(R"(const x: float64[2] = [3, 4]
                          const s: float64[2] = [1, 2]
                          y = RMSNormalization(x, s) {epsilon=0.0})"),
              Near({3 / std::sqrt(12.5), 8 / std::sqrt(12.5)}));
}

TEST(BatchNormalization, PerChannel) {
  EXPECT_THAT(ValuesOf(R"(const x: float64[1,2,2] = [1, 2, 3, 4]
                          const s: float64[2] = [1, 10]
                          const b: float64[2] = [0, 100]
                          const m: float64[2] = [1, 3]
                          const v: float64[2] = [3, 0]
                          y = BatchNormalization(x, s, b, m, v) {epsilon=1.0})"),
              Near({0, 0.5, 100, 110}));
}

TEST(BatchNormalization, CanonicalFormForgetsTraining) {
  const char* inputs =
      "input x: float32[N,4,H]\ninput s: float32[4]\ninput b: float32[4]\n"
      "input m: float32[4]\ninput v: float32[4]\n";
  EXPECT_EQ(AttributesOf(
                absl::StrCat(inputs,
                             "y = BatchNormalization(x, s, b, m, v) {epsilon=0.001, momentum=0.5, "
                             "training_mode=0}")),
            "{epsilon=0.001}");
  EXPECT_THAT(TypeOf("input x: float32[N,4,H]\ninput s: float32[3]\n"
                     "y = BatchNormalization(x, s, s, s, s)"),
              HasSubstr("one element per channel"));
}

TEST(InstanceNormalization, PerImageAndChannel) {
  EXPECT_THAT(ValuesOf(R"(const x: float64[2,2,2] = [1, 3, 0, 0, 5, 5, 2, 6]
                          const s: float64[2] = [1, 10]
                          const b: float64[2] = [0, 100]
                          y = InstanceNormalization(x, s, b) {epsilon=0.5})"),
              Near({-1 / std::sqrt(1.5), 1 / std::sqrt(1.5), 100, 100, 0, 0,
                    100 - 20 / std::sqrt(4.5), 100 + 20 / std::sqrt(4.5)}));
}

TEST(GroupNormalization, GroupsOfChannels) {
  EXPECT_THAT(ValuesOf(R"(const x: float64[1,4,1] = [1, 3, 10, 14]
                          const s: float64[4] = [1, 2, 3, 4]
                          const b: float64[4] = [0, 0, 0, 100]
                          y = GroupNormalization(x, s, b) {epsilon=0.0, num_groups=2})"),
              Near({-1, 2, -3, 104}));
  EXPECT_THAT(TypeOf("input x: float32[1,4,3]\ninput s: float32[4]\n"
                     "y = GroupNormalization(x, s, s) {num_groups=3}"),
              HasSubstr("3 groups"));
}

TEST(Normalizations, DoNotDependOnTheNumberOfThreads) {
  const char* inputs = R"(const x: float32[5,6,900] = random(1)
                          const s: float32[900] = random(2)
                          const c: float32[6] = random(3)
                          )";
  for (const char* node :
       {"y = Softmax(x)", "y = LogSoftmax(x) {axis=1}", "y = LayerNormalization(x, s)",
        "y = InstanceNormalization(x, c, c)", "y = GroupNormalization(x, c, c) {num_groups=3}"}) {
    const std::string text = absl::StrCat(inputs, node);
    ASSERT_OK_AND_ASSIGN(const model::Tensor alone, Evaluated(text, 1));
    for (int threads : {2, 8}) {
      ASSERT_OK_AND_ASSIGN(const model::Tensor together, Evaluated(text, threads));
      EXPECT_TRUE(SameContent(alone, together)) << node;
    }
  }
}

TEST(Normalizations, OfNothing) {
  for (const char* node : {"y = Softmax(x)", "y = LayerNormalization(x, s)"}) {
    EXPECT_THAT(
        ValuesOf(absl::StrCat("const x: float32[2,0] = []\nconst s: float32[0] = []\n", node)),
        ElementsAre());
  }
}

}  // namespace
}  // namespace quotient::ops
