#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/rng.h"
#include "core/ops/support.h"
#include "core/ops/window.h"
#include "tests/core/ops/one_node.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using model::Ints;
using model::Tensor;
using testing::AttributesOf;
using ::testing::ElementsAre;
using testing::Evaluated;
using testing::HasReason;
using ::testing::HasSubstr;
using testing::TypeOf;
using testing::ValuesOf;

TEST(Conv, SlidesAKernel) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,1,3,3] = [1,2,3,4,5,6,7,8,9]
                          const w: float32[1,1,2,2] = [1,0,0,10]
                          const b: float32[1] = [100]
                          y = Conv(x, w, b))"),
              ElementsAre(151, 162, 184, 195));
}

TEST(Conv, PadsWithZeros) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,1,3] = [1,2,3]
                          const w: float32[1,1,3] = [1,10,100]
                          y = Conv(x, w) {pads=[1,1]})"),
              ElementsAre(210, 321, 32));
}

TEST(Conv, StridesAndDilates) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,1,7] = [1,2,3,4,5,6,7]
                          const w: float32[1,1,2] = [1,10]
                          y = Conv(x, w) {dilations=[3], strides=[2]})"),
              ElementsAre(41, 63));
}

TEST(Conv, GroupsSeeTheirOwnChannels) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,2,2] = [1,2,3,4]
                          const w: float32[4,1,1] = [1,10,1,10]
                          y = Conv(x, w) {group=2})"),
              ElementsAre(1, 2, 10, 20, 3, 4, 30, 40));
}

TEST(Conv, AddsUpInDoubleAndRoundsOnce) {
  // In float32 the small terms would vanish beside 2^24, one at a time.
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,4,1] = [16777216, 1, 1, 1]
                          const w: float32[1,4,1] = [1, 1, 1, 1]
                          y = Conv(x, w))"),
              ElementsAre(16777220));  // 16777219 rounded to even
}

// All loops written out.
std::vector<double> NaiveConv(const Tensor& x, const Tensor& w, const Tensor& b, int64_t groups,
                              const Window& window, const Ints& out_dims) {
  const std::vector<int64_t>& xd = x.dims();
  const std::vector<int64_t>& wd = w.dims();
  std::vector<double> y;
  for (BoxIndex o(out_dims); o.valid(); o.Next()) {
    const int64_t group = o[1] / (wd[0] / groups);
    double sum = 0;
    Ints taps{wd[1]};
    taps.insert(taps.end(), window.kernel.begin(), window.kernel.end());
    for (BoxIndex t(taps); t.valid(); t.Next()) {
      Ints at{o[0], group * wd[1] + t[0]}, weight{o[1], t[0]};
      bool inside = true;
      for (size_t a = 0; a < window.axes(); ++a) {
        at.push_back(o[a + 2] * window.strides[a] + t[a + 1] * window.dilations[a] -
                     window.pads_begin[a]);
        weight.push_back(t[a + 1]);
        inside &= at.back() >= 0 && at.back() < xd[a + 2];
      }
      if (!inside) continue;
      int64_t xi = 0, wi = 0;
      for (size_t i = 0; i < at.size(); ++i) xi = xi * xd[i] + at[i];
      for (size_t i = 0; i < weight.size(); ++i) wi = wi * wd[i] + weight[i];
      sum += x.GetDouble(xi) * w.GetDouble(wi);
    }
    y.push_back(sum + b.GetDouble(o[1]));
  }
  return y;
}

std::string Numbers(const Ints& values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

// A random convolution as text, small enough for the naive loops.
std::string RandomConv(uint64_t seed) {
  Rng rng(seed);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng.Below(high - low + 1));
  };
  const int64_t axes = pick(1, 3), groups = pick(1, 3);
  const int64_t in = pick(1, 3), out = pick(1, 7);
  Ints x{pick(1, 2), groups * in}, w{groups * out, in}, strides, dilations, pads;
  for (int64_t a = 0; a < axes; ++a) {
    x.push_back(pick(5, 9));
    w.push_back(pick(1, 3));
    strides.push_back(pick(1, 3));
    dilations.push_back(pick(1, 2));
  }
  for (int64_t a = 0; a < 2 * axes; ++a) pads.push_back(pick(0, 2));
  return absl::StrCat("const x: float32", Numbers(x), " = random(1)\nconst w: float32", Numbers(w),
                      " = random(2)\nconst b: float32", Numbers({groups * out}),
                      " = random(3)\ny = Conv(x, w, b) {dilations=", Numbers(dilations),
                      ", group=", groups, ", pads=", Numbers(pads), ", strides=", Numbers(strides),
                      "}");
}

TEST(Conv, IsTheNaiveSumOnRandomShapes) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const std::string text = RandomConv(seed);
    SCOPED_TRACE(text);
    const model::Graph graph = testing::OneNode(text);
    const Tensor& x = *graph.values[0].constant;
    const Tensor& w = *graph.values[1].constant;
    const Tensor& b = *graph.values[2].constant;
    const model::AttributeMap& attributes = graph.nodes[0].attributes;
    ASSERT_OK_AND_ASSIGN(const Window window,
                         ReadWindow(attributes, SpatialDims(w.dims()),
                                    model::Shape(x.dims().begin() + 2, x.dims().end())));
    ASSERT_OK_AND_ASSIGN(const Tensor y, Evaluated(text));
    const std::vector<double> expected =
        NaiveConv(x, w, b, attributes.GetInt("group", 1), window, y.dims());
    EXPECT_THAT(y.AsDoubles(), ::testing::Pointwise(::testing::DoubleNear(1e-6), expected));
    for (int threads : {2, 8}) {
      ASSERT_OK_AND_ASSIGN(const Tensor threaded, Evaluated(text, threads));
      EXPECT_TRUE(SameContent(y, threaded));
    }
  }
}

TEST(Conv, InfersTypes) {
  const char* weights = "input w: float32[8,3,3,3]\n";
  EXPECT_EQ(TypeOf(absl::StrCat("input x: float32[N,3,9,9]\n", weights,
                                "y = Conv(x, w) {pads=[1,1,1,1], strides=[2,1]}")),
            "float32[N,8,5,9]");
  EXPECT_EQ(TypeOf(absl::StrCat("input x: float32[N,3,H,W]\n", weights,
                                "y = Conv(x, w) {pads=[1,0,1,0]}")),
            "float32[N,8,H,?]");
  EXPECT_EQ(TypeOf("input x: float32[N,3,9,9]\ninput w: float32[*]\ny = Conv(x, w)"),
            "float32[N,?,?,?]");
  EXPECT_EQ(TypeOf("input x: float16[*]\ninput w: float16[8,3,3,3]\ny = Conv(x, w)"), "float16[*]");
  EXPECT_EQ(TypeOf("input x: float32[1,3,9]\ninput w: float32[M,3,K]\n"
                   "y = Conv(x, w) {kernel_shape=[3]}"),
            "float32[1,M,7]");
}

TEST(Conv, CanonicalFormHasPadsAndNoKernelShape) {
  const char* inputs = "input x: float32[N,3,8,8]\ninput w: float32[8,3,3,3]\n";
  EXPECT_EQ(AttributesOf(
                absl::StrCat(inputs,
                             "y = Conv(x, w) {auto_pad=\"SAME_UPPER\", dilations=[1,1], group=1, "
                             "kernel_shape=[3,3], strides=[2,2]}")),
            "{pads=[0,0,1,1], strides=[2,2]}");
  EXPECT_EQ(
      AttributesOf(absl::StrCat(inputs, "y = Conv(x, w) {auto_pad=\"VALID\", strides=[1,1]}")), "");
  EXPECT_EQ(
      AttributesOf(absl::StrCat(inputs, "y = Conv(x, w) {auto_pad=\"NOTSET\", pads=[0,0,0,0]}")),
      "");
}

TEST(Conv, AutoPadStaysWhereASymbolDecides) {
  EXPECT_EQ(AttributesOf("input x: float32[N,3,H,8]\ninput w: float32[8,3,3,3]\n"
                         "y = Conv(x, w) {auto_pad=\"SAME_UPPER\", strides=[2,2]}"),
            "{auto_pad=\"SAME_UPPER\", strides=[2,2]}");
  EXPECT_EQ(TypeOf("input x: float32[N,3,H,8]\ninput w: float32[8,3,3,3]\n"
                   "y = Conv(x, w) {auto_pad=\"SAME_UPPER\", strides=[2,2]}"),
            "float32[N,8,?,4]");
}

TEST(Conv, SaysWhatDoesNotFit) {
  const auto refusal = [](absl::string_view x, absl::string_view w, absl::string_view node) {
    const absl::StatusOr<model::Graph> graph = testing::Inferred(absl::StrCat(
        "input x: float32", x, "\ninput w: float32", w, "\ninput b: float32[8]\ny = ", node));
    EXPECT_THAT(graph, HasReason(Reason::kModelShape));
    return std::string(graph.status().message());
  };
  EXPECT_THAT(refusal("[1,4,9,9]", "[8,3,3,3]", "Conv(x, w)"), HasSubstr("input channels"));
  EXPECT_THAT(refusal("[1,3,9,9]", "[8,3,3,3]", "Conv(x, w) {group=2}"), HasSubstr("channels"));
  EXPECT_THAT(refusal("[1,9,9,9]", "[8,3,3,3]", "Conv(x, w) {group=3}"), HasSubstr("groups"));
  EXPECT_THAT(refusal("[1,3,9,9]", "[8,3,3,3]", "Conv(x, w) {group=0}"), HasSubstr("group"));
  EXPECT_THAT(refusal("[1,3,9]", "[8,3,3,3]", "Conv(x, w)"), HasSubstr("rank"));
  EXPECT_THAT(refusal("[1,3]", "[8,3]", "Conv(x, w)"), HasSubstr("rank 2"));
  EXPECT_THAT(refusal("[1,3,2,9]", "[8,3,3,3]", "Conv(x, w)"), HasSubstr("does not fit"));
  EXPECT_THAT(refusal("[1,3,9,9]", "[4,3,3,3]", "Conv(x, w, b)"), HasSubstr("bias"));
  EXPECT_THAT(refusal("[1,3,9,9]", "[8,3,3,3]", "Conv(x, w) {kernel_shape=[5,5]}"),
              HasSubstr("kernel_shape"));
  EXPECT_THAT(refusal("[1,3,9,9]", "[8,3,0,3]", "Conv(x, w)"), HasSubstr("kernel"));
}

TEST(Conv, HalfPrecision) {
  for (const char* dtype : {"float16", "bfloat16", "float64"}) {
    EXPECT_THAT(ValuesOf(absl::StrCat("const x: ", dtype, "[1,1,3] = [1,2,3]\nconst w: ", dtype,
                                      "[1,1,2] = [1,2]\ny = Conv(x, w)")),
                ElementsAre(5, 8));
  }
}

}  // namespace
}  // namespace quotient::ops
