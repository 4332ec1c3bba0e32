#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/rng.h"
#include "core/ops/support.h"
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

TEST(ConvTranspose, SpreadsEachElement) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,1,3] = [1,2,3]
                          const w: float32[1,1,2] = [1,10]
                          const b: float32[1] = [100]
                          y = ConvTranspose(x, w, b))"),
              ElementsAre(101, 112, 123, 130));
}

TEST(ConvTranspose, StridesDilatesAndPads) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,1,2] = [1,2]
                          const w: float32[1,1,3] = [1,10,100]
                          y = ConvTranspose(x, w) {strides=[2]})"),
              ElementsAre(1, 10, 102, 20, 200));
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,1,2] = [1,2]
                          const w: float32[1,1,3] = [1,10,100]
                          y = ConvTranspose(x, w) {pads=[1,2], strides=[2]})"),
              ElementsAre(10, 102));
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,1,2] = [1,2]
                          const w: float32[1,1,2] = [1,10]
                          y = ConvTranspose(x, w) {dilations=[3]})"),
              ElementsAre(1, 2, 0, 10, 20));
}

TEST(ConvTranspose, OutputPaddingIsFilledWithTheBias) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,1,2] = [1,2]
                          const w: float32[1,1,1] = [1]
                          const b: float32[1] = [5]
                          y = ConvTranspose(x, w, b) {output_padding=[1], strides=[2]})"),
              ElementsAre(6, 5, 7, 5));
}

TEST(ConvTranspose, GroupsSeeTheirOwnChannels) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,2,1] = [1,2]
                          const w: float32[2,2,1] = [1,10,100,1000]
                          y = ConvTranspose(x, w) {group=2})"),
              ElementsAre(1, 10, 200, 2000));
}

std::string Numbers(const Ints& values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// <conv(x), y> = <x, conv_transpose(y)> with the same weights: the definition, with Conv as oracle.
TEST(ConvTranspose, IsTheAdjointOfConv) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(rng.Below(high - low + 1));
    };
    const int64_t axes = pick(1, 3), groups = pick(1, 2);
    Ints x{pick(1, 2), groups * pick(1, 3)}, w{groups * pick(1, 3), x[1] / groups};
    Ints strides, dilations, pads(2 * axes), extra;
    for (int64_t a = 0; a < axes; ++a) {
      x.push_back(pick(6, 9));
      w.push_back(pick(1, 3));
      strides.push_back(pick(1, 3));
      dilations.push_back(pick(1, 2));
      const int64_t extent = (w.back() - 1) * dilations.back() + 1;
      pads[a] = pick(0, extent - 1);
      pads[axes + a] = pick(0, extent - 1);
      extra.push_back((x.back() + pads[a] + pads[axes + a] - extent) % strides.back());
    }
    const std::string attributes =
        absl::StrCat("dilations=", Numbers(dilations), ", group=", groups, ", pads=", Numbers(pads),
                     ", strides=", Numbers(strides));
    SCOPED_TRACE(absl::StrCat(Numbers(x), " ", Numbers(w), " ", attributes));
    const std::string weights = absl::StrCat("const w: float64", Numbers(w), " = random(5)\n");
    const std::string input = absl::StrCat("const x: float64", Numbers(x), " = random(6)\n");
    ASSERT_OK_AND_ASSIGN(
        const Tensor forward,
        Evaluated(absl::StrCat(input, weights, "y = Conv(x, w) {", attributes, "}")));
    const std::string cotangent =
        absl::StrCat("const z: float64", Numbers(forward.dims()), " = random(7)\n");
    ASSERT_OK_AND_ASSIGN(
        const Tensor back,
        Evaluated(absl::StrCat(cotangent, weights, "y = ConvTranspose(z, w) {", attributes,
                               ", output_padding=", Numbers(extra), "}"),
                  2));
    ASSERT_EQ(back.dims(), x);
    const std::vector<double> xs =
        testing::OneNode(input + "y = Relu(x)").values[0].constant->AsDoubles();
    const std::vector<double> zs =
        testing::OneNode(cotangent + "y = Relu(z)").values[0].constant->AsDoubles();
    EXPECT_NEAR(Dot(forward.AsDoubles(), zs), Dot(xs, back.AsDoubles()), 1e-9);
  }
}

TEST(ConvTranspose, DoesNotDependOnTheNumberOfThreads) {
  const char* text = R"(const x: float32[2,6,5,7] = random(1)
                        const w: float32[6,4,3,2] = random(2)
                        y = ConvTranspose(x, w) {group=2, strides=[2,3]})";
  ASSERT_OK_AND_ASSIGN(const Tensor alone, Evaluated(text, 1));
  for (int threads : {2, 8}) {
    ASSERT_OK_AND_ASSIGN(const Tensor together, Evaluated(text, threads));
    EXPECT_TRUE(SameContent(alone, together));
  }
}

TEST(ConvTranspose, InfersTypes) {
  const char* weights = "input w: float32[6,4,3,3]\n";
  EXPECT_EQ(TypeOf(absl::StrCat("input x: float32[N,6,5,5]\n", weights,
                                "y = ConvTranspose(x, w) {output_padding=[1,0], strides=[2,2]}")),
            "float32[N,4,12,11]");
  EXPECT_EQ(TypeOf(absl::StrCat("input x: float32[N,6,H,W]\n", weights,
                                "y = ConvTranspose(x, w) {group=2, pads=[1,0,1,0]}")),
            "float32[N,8,H,?]");
  EXPECT_EQ(TypeOf("input x: float32[N,6,H,W]\ninput w: float32[*]\ny = ConvTranspose(x, w)"),
            "float32[N,?,?,?]");
}

TEST(ConvTranspose, CanonicalFormHasPadsOnly) {
  const char* inputs = "input x: float32[N,6,5,5]\ninput w: float32[6,4,3,3]\n";
  EXPECT_EQ(AttributesOf(absl::StrCat(
                inputs, "y = ConvTranspose(x, w) {output_shape=[10,11], strides=[2,2]}")),
            "{pads=[1,0,0,0], strides=[2,2]}");
  EXPECT_EQ(AttributesOf(absl::StrCat(
                inputs,
                "y = ConvTranspose(x, w) {auto_pad=\"SAME_UPPER\", kernel_shape=[3,3], "
                "output_padding=[0,0], strides=[2,2]}")),
            "{pads=[0,0,1,1], strides=[2,2]}");
  // One element beyond what is reached: output padding, as long as it is less than a stride.
  EXPECT_EQ(AttributesOf(absl::StrCat(
                inputs, "y = ConvTranspose(x, w) {output_shape=[12,11], strides=[2,2]}")),
            "{output_padding=[1,0], strides=[2,2]}");
}

TEST(ConvTranspose, OutputShapeStaysWhereASymbolDecides) {
  const char* text =
      "input x: float32[N,6,H,5]\ninput w: float32[6,4,3,3]\n"
      "y = ConvTranspose(x, w) {output_shape=[10,10], strides=[2,2]}";
  EXPECT_EQ(AttributesOf(text), "{output_shape=[10,10], strides=[2,2]}");
  EXPECT_EQ(TypeOf(text), "float32[N,4,10,10]");
}

TEST(ConvTranspose, SaysWhatDoesNotFit) {
  const auto refusal = [](absl::string_view x, absl::string_view node) {
    const absl::StatusOr<model::Graph> graph =
        testing::Inferred(absl::StrCat("input x: float32", x,
                                       "\ninput w: float32[6,4,3,3]\n"
                                       "input b: float32[3]\ny = ",
                                       node));
    EXPECT_THAT(graph, HasReason(Reason::kModelShape));
    return std::string(graph.status().message());
  };
  EXPECT_THAT(refusal("[1,5,5,5]", "ConvTranspose(x, w)"), HasSubstr("input channels"));
  EXPECT_THAT(refusal("[1,6,5,5]", "ConvTranspose(x, w) {group=4}"), HasSubstr("groups"));
  EXPECT_THAT(refusal("[1,6,5,5]", "ConvTranspose(x, w, b)"), HasSubstr("bias"));
  EXPECT_THAT(refusal("[1,6,5,5]", "ConvTranspose(x, w) {output_padding=[1]}"),
              HasSubstr("output_padding"));
  EXPECT_THAT(refusal("[1,6,5,5]", "ConvTranspose(x, w) {output_shape=[20,7]}"),
              HasSubstr("output_shape"));
  EXPECT_THAT(refusal("[1,6,1,5]", "ConvTranspose(x, w) {pads=[2,0,2,0]}"), HasSubstr("output"));
}

}  // namespace
}  // namespace quotient::ops
