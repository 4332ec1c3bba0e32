#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/ops/support.h"
#include "tests/core/ops/one_node.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using model::Ints;
using testing::AttributesOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::Evaluated;
using testing::HasReason;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::StatusIs;
using testing::TypeOf;
using testing::ValuesOf;

// One way of reducing a list of numbers.
struct Case {
  const char* op;
  double (*reduce)(const std::vector<double>& values);
};

double Sum(const std::vector<double>& values, double (*map)(double)) {
  double sum = 0;
  for (double value : values) sum += map(value);
  return sum;
}

const Case kCases[] = {
    {"ReduceSum", [](const auto& v) { return Sum(v, [](double x) { return x; }); }},
    {"ReduceMean", [](const auto& v) { return Sum(v, [](double x) { return x; }) / v.size(); }},
    {"ReduceMax", [](const auto& v) { return *std::max_element(v.begin(), v.end()); }},
    {"ReduceMin", [](const auto& v) { return *std::min_element(v.begin(), v.end()); }},
    {"ReduceProd",
     [](const auto& v) {
       double product = 1;
       for (double x : v) product *= x;
       return product;
     }},
    {"ReduceL1", [](const auto& v) { return Sum(v, [](double x) { return std::fabs(x); }); }},
    {"ReduceL2", [](const auto& v) { return std::sqrt(Sum(v, [](double x) { return x * x; })); }},
    {"ReduceSumSquare", [](const auto& v) { return Sum(v, [](double x) { return x * x; }); }},
    {"ReduceLogSumExp",
     [](const auto& v) { return std::log(Sum(v, [](double x) { return std::exp(x); })); }},
};

// Collects the elements of each output and reduces them.
std::vector<double> NaiveReduce(const Case& c, const model::Tensor& x, const Ints& axes) {
  const std::set<int64_t> reduced(axes.begin(), axes.end());
  Ints strides(x.rank());
  int64_t outputs = 1;
  for (int axis = x.rank(); axis-- > 0;) {
    if (reduced.contains(axis)) continue;
    strides[axis] = outputs;
    outputs *= x.dims()[axis];
  }
  std::vector<std::vector<double>> lists(outputs);
  int64_t at = 0;
  for (BoxIndex i(x.dims()); i.valid(); i.Next()) {
    lists[i.Offset(strides)].push_back(x.GetDouble(at++));
  }
  std::vector<double> results;
  for (const std::vector<double>& list : lists) results.push_back(c.reduce(list));
  return results;
}

std::string Numbers(const Ints& values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

TEST(Reduce, EveryOperatorAlongEveryChoiceOfAxes) {
  const std::string input = "const x: float64[3,2,4,5] = random(8)\n";
  const model::Graph graph = testing::OneNode(input + "y = Relu(x)");
  const model::Tensor& x = *graph.values[0].constant;
  for (const Case& c : kCases) {
    for (int mask = 1; mask < 16; ++mask) {
      Ints axes;
      for (int axis = 0; axis < 4; ++axis) {
        if (mask >> axis & 1) axes.push_back(axis);
      }
      const std::string text =
          absl::StrCat(input, "y = ", c.op, "(x) {axes=", Numbers(axes), ", keepdims=0}");
      EXPECT_THAT(ValuesOf(text, 1 + mask % 3),
                  Pointwise(DoubleNear(1e-12), NaiveReduce(c, x, axes)))
          << text;
    }
  }
}

TEST(Reduce, LongRunsOnAnyNumberOfThreads) {
  for (const char* axes : {"[0]", "[1]", "[0,1]"}) {
    const std::string text =
        absl::StrCat("const x: float32[70,2500] = random(1)\ny = ReduceSum(x) {axes=", axes, "}");
    ASSERT_OK_AND_ASSIGN(const model::Tensor alone, Evaluated(text, 1));
    for (int threads : {2, 8}) {
      ASSERT_OK_AND_ASSIGN(const model::Tensor together, Evaluated(text, threads));
      EXPECT_TRUE(SameContent(alone, together));
    }
  }
}

TEST(Reduce, WithoutAxesAllAreReduced) {
  EXPECT_THAT(ValuesOf("const x: float32[2,2] = [1,2,3,4]\ny = ReduceSum(x)"), ElementsAre(10));
  EXPECT_EQ(TypeOf("input x: float32[N,2]\ny = ReduceSum(x)"), "float32[1,1]");
  EXPECT_EQ(TypeOf("input x: float32[N,2]\ny = ReduceSum(x) {keepdims=0}"), "float32[]");
  EXPECT_EQ(AttributesOf("input x: float32[N,2]\ny = ReduceSum(x)"), "{axes=[0,1]}");
}

TEST(Reduce, NoAxesMayMeanNothingToDo) {
  const char* text =
      "const x: float32[2] = [1,2]\nconst a: int64[0] = []\n"
      "y = ReduceSum(x, a) {noop_with_empty_axes=1}";
  EXPECT_THAT(ValuesOf(text), ElementsAre(1, 2));
  EXPECT_EQ(TypeOf("input x: float32[N,2]\ny = ReduceSum(x) {noop_with_empty_axes=1}"),
            "float32[N,2]");
  // What it would do to single elements is not agreed on.
  EXPECT_THAT(Evaluated("const x: float32[2] = [1,2]\ny = ReduceL2(x) {noop_with_empty_axes=1}"),
              StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(Reduce, AxesBecomeACanonicalAttribute) {
  EXPECT_EQ(AttributesOf("input x: float32[A,B,C]\nconst a: int64[2] = [-1, 0]\n"
                         "y = ReduceMean(x, a) {keepdims=1, noop_with_empty_axes=1}"),
            "{axes=[0,2]}");
  EXPECT_EQ(TypeOf("input x: float32[A,B,C]\ninput a: int64[1]\ny = ReduceMean(x, a)"),
            "float32[?,?,?]");
  EXPECT_EQ(TypeOf("input x: float32[A,B,C]\ninput a: int64[1]\ny = ReduceMean(x, a) {keepdims=0}"),
            "float32[*]");
  EXPECT_EQ(TypeOf("input x: float32[A,B,C]\ny = ReduceMean(x) {axes=[1], keepdims=0}"),
            "float32[A,C]");
}

TEST(Reduce, IntegersAreExact) {
  ASSERT_OK_AND_ASSIGN(const model::Tensor y, Evaluated(R"(
      const x: int64[2] = [9007199254740992, 1]
      y = ReduceSum(x) {keepdims=0})"));
  EXPECT_THAT(y.AsInts(), ElementsAre(9007199254740993));
  EXPECT_THAT(ValuesOf("const x: int32[2] = [-7, 2]\ny = ReduceMean(x)"), ElementsAre(-2));
  EXPECT_THAT(ValuesOf("const x: uint64[2] = [-1, 1]\ny = ReduceMin(x)"), ElementsAre(1));
  EXPECT_THAT(ValuesOf("const x: bool[2,2] = [0,1,0,0]\ny = ReduceMax(x) {axes=[1]}"),
              ElementsAre(1, 0));
}

TEST(Reduce, OfNothing) {
  const char* input = "const x: float32[2,0] = []\n";
  EXPECT_THAT(ValuesOf(absl::StrCat(input, "y = ReduceSum(x) {axes=[1]}")), ElementsAre(0, 0));
  EXPECT_THAT(ValuesOf(absl::StrCat(input, "y = ReduceProd(x) {axes=[1]}")), ElementsAre(1, 1));
  EXPECT_THAT(ValuesOf(absl::StrCat(input, "y = ReduceMax(x) {axes=[1]}")),
              ::testing::Each(-std::numeric_limits<double>::infinity()));
  EXPECT_THAT(ValuesOf(absl::StrCat(input, "y = ReduceSum(x) {axes=[0]}")), ElementsAre());
  EXPECT_THAT(ValuesOf("const x: int8[1,0] = []\ny = ReduceMax(x) {axes=[1]}"), ElementsAre(-128));
  EXPECT_THAT(ValuesOf("const x: bool[1,0] = []\ny = ReduceMax(x) {axes=[1]}"), ElementsAre(0));
  EXPECT_THAT(ValuesOf("const x: bool[1,0] = []\ny = ReduceMin(x) {axes=[1]}"), ElementsAre(1));
}

TEST(Reduce, LogSumExpDoesNotOverflow) {
  EXPECT_THAT(ValuesOf("const x: float64[2] = [1000, 1000]\ny = ReduceLogSumExp(x)"),
              ElementsAre(DoubleNear(1000 + std::log(2), 1e-12)));
  EXPECT_THAT(ValuesOf("const x: float64[2] = [-inf, -inf]\ny = ReduceLogSumExp(x)"),
              ElementsAre(-std::numeric_limits<double>::infinity()));
}

TEST(Reduce, SaysWhatDoesNotFit) {
  EXPECT_THAT(testing::Inferred("input x: float32[A,B]\ny = ReduceSum(x) {axes=[2]}"),
              HasReason(Reason::kModelShape, HasSubstr("axis 2")));
  EXPECT_THAT(TypeOf("input x: float32[A,B]\ny = ReduceSum(x) {axes=[1,-1]}"), HasSubstr("twice"));
  EXPECT_THAT(TypeOf("input x: bool[A,B]\ny = ReduceSum(x)"), HasSubstr("bool"));
}

TEST(ReduceProd, FollowsElements) {
  EXPECT_EQ(TypeOf(R"(input x: float32[2,3,4]
                      s = Shape(x)
                      p = ReduceProd(s)
                      y = ConstantOfShape(p))"),
            "float32[24]");
}

TEST(ArgMax, ComparesUnsignedNumbersAsSuch) {
  const char x[] = "const x: uint64[3] = [1, -1, 0]\n";
  EXPECT_THAT(ValuesOf(absl::StrCat(x, "y = ArgMax(x)")), ElementsAre(1));
  EXPECT_THAT(ValuesOf(absl::StrCat(x, "y = ArgMin(x)")), ElementsAre(2));
}

TEST(ArgMax, FirstOrLastOfEqualOnes) {
  const char* x = "const x: float32[2,3] = [1,5,5,7,0,7]\n";
  EXPECT_THAT(ValuesOf(absl::StrCat(x, "y = ArgMax(x) {axis=1}")), ElementsAre(1, 0));
  EXPECT_THAT(ValuesOf(absl::StrCat(x, "y = ArgMax(x) {axis=-1, select_last_index=1}")),
              ElementsAre(2, 2));
  EXPECT_THAT(ValuesOf(absl::StrCat(x, "y = ArgMax(x)")), ElementsAre(1, 0, 1));
  EXPECT_THAT(ValuesOf(absl::StrCat(x, "y = ArgMin(x) {axis=1}")), ElementsAre(0, 1));
  EXPECT_EQ(TypeOf("input x: float32[A,B]\ny = ArgMax(x) {axis=-1, keepdims=0}"), "int64[A]");
  EXPECT_THAT(TypeOf("input x: float32[2,0]\ny = ArgMax(x) {axis=1}"), HasSubstr("no elements"));
}

}  // namespace
}  // namespace quotient::ops
