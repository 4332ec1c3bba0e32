// Canonical form: text in, text out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/model/text.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using testing::HasReason;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MustParse;

// The last node of the graph with these lines, printed after inference: "y: T = Op(...) {...}".
std::string Canonical(absl::string_view lines) {
  model::Graph graph = MustParse(absl::StrCat("graph g {\n", lines, "\noutput y\n}"));
  const absl::Status status = InferTypes(graph);
  if (!status.ok()) return status.ToString();
  const model::Node& node = graph.nodes.back();
  std::string inputs;
  for (model::ValueId input : node.inputs) {
    absl::StrAppend(&inputs, inputs.empty() ? "" : ", ",
                    input.valid() ? graph.value(input).name : "_");
  }
  return absl::StrCat(node.op, "(", inputs, ")", model::ToString(node.attributes), " ",
                      testing::TypeText(graph.value(node.outputs[0]).type));
}

struct Case {
  const char* lines;
  const char* canonical;
};

class CanonicalFormTest : public ::testing::TestWithParam<Case> {};

TEST_P(CanonicalFormTest, Is) {
  EXPECT_EQ(Canonical(GetParam().lines), GetParam().canonical) << GetParam().lines;
}

INSTANTIATE_TEST_SUITE_P(
    Views, CanonicalFormTest,
    ::testing::Values(
        Case{"input x: float32[2,3,4]\nconst s: int64[2] = [0,-1]\ny = Reshape(x, s)",
             "Reshape(x){shape=[2,12]} float32[2,12]"},
        // Symbols: 0 where a dimension is copied, -1 for one that follows.
        Case{"input x: float32[N,s,768]\nconst s4: int64[4] = [0,0,12,64]\ny = Reshape(x, s4)",
             "Reshape(x){shape=[0,0,12,64]} float32[N,s,12,64]"},
        Case{"input x: float32[N,3,8,8]\nconst s: int64[2] = [-1,192]\ny = Reshape(x, s)",
             "Reshape(x){shape=[0,192]} float32[N,192]"},
        Case{"input x: float32[N,12,s,64]\nconst s: int64[3] = [-1,0,64]\n"
             "t = Transpose(x) {perm=[0,2,1,3]}\nconst u: int64[3] = [0,0,-1]\ny = Reshape(t, u)",
             "Reshape(t){shape=[0,0,768]} float32[N,s,768]"},
        Case{"input x: float32[6,0]\nconst s: int64[2] = [0,5]\ny = Reshape(x, s) {allowzero=1}",
             "Reshape(x){allowzero=1, shape=[0,5]} float32[0,5]"},
        Case{"input x: float32[2,3]\ninput s: int64[3]\ny = Reshape(x, s)",
             "Reshape(x, s) float32[?,?,?]"},
        Case{"input x: float32[1,3,1]\ny = Squeeze(x)", "Squeeze(x){axes=[0,2]} float32[3]"},
        Case{"input x: float32[1,N,1]\ny = Squeeze(x)", "Squeeze(x) float32[*]"},
        Case{"input x: float32[2,3]\nconst a: int64[2] = [-1,0]\ny = Unsqueeze(x, a)",
             "Unsqueeze(x){axes=[0,3]} float32[1,2,3,1]"},
        Case{"input x: float32[2,3,4]\ny = Flatten(x) {axis=-2}", "Flatten(x) float32[2,12]"},
        Case{"input x: float32[2]\ninput like: int64[?]\ny = CastLike(x, like)",
             "Cast(x){to=7} int64[2]"},
        Case{"input x: float32[2]\nconst r: float32[] = [0.5]\ny = Dropout(x, r) {seed=3}",
             "Dropout(x) float32[2]"}));

INSTANTIATE_TEST_SUITE_P(
    Moves, CanonicalFormTest,
    ::testing::Values(
        Case{"input x: float32[2,3,4]\ny = Transpose(x)",
             "Transpose(x){perm=[2,1,0]} float32[4,3,2]"},
        Case{"input x: float32[2,3]\ny = Concat(x, x) {axis=-2}",
             "Concat(x, x){axis=0} float32[4,3]"},
        Case{"input x: float32[5,3]\n(y, z) = Split(x) {num_outputs=2}",
             "Split(x){split=[3,2]} float32[3,3]"},
        Case{"input x: float32[N,3]\n(y, z) = Split(x)", "Split(x){num_outputs=2} float32[?,3]"},
        Case{"input x: float32[8,9]\nconst b: int64[2] = [-3,0]\n"
             "const e: int64[2] = [9223372036854775807,9]\nconst a: int64[2] = [-1,0]\n"
             "y = Slice(x, b, e, a)",
             "Slice(x){axes=[1], ends=[9], starts=[6]} float32[8,3]"},
        Case{"input x: float32[8]\nconst b: int64[1] = [-1]\nconst e: int64[1] = [-100]\n"
             "const a: int64[1] = [0]\nconst s: int64[1] = [-1]\ny = Slice(x, b, e, a, s)",
             "Slice(x){axes=[0], ends=[-9], starts=[7], steps=[-1]} float32[8]"},
        Case{"input x: float32[N,4]\nconst b: int64[1] = [0]\nconst e: int64[1] = [2147483647]\n"
             "const a: int64[1] = [0]\ny = Slice(x, b, e, a)",
             "Slice(x){axes=[0], ends=[9223372036854775807], starts=[0]} float32[N,4]"},
        Case{"input x: float32[4,5]\nconst p: int64[2] = [1,2]\nconst a: int64[1] = [-1]\n"
             "const v: float32[] = [0]\ny = Pad(x, p, v, a)",
             "Pad(x){pads=[0,1,0,2]} float32[4,8]"},
        Case{"input x: float32[N,1,4]\nconst s: int64[3] = [1,7,1]\ny = Expand(x, s)",
             "Expand(x){shape=[1,7,4]} float32[N,7,4]"},
        Case{"input x: float32[2,2]\nconst k: int64[] = [0]\ny = Trilu(x, k) {upper=1}",
             "Trilu(x) float32[2,2]"},
        Case{"input x: int64[2,3]\nconst a: int32[1] = [-1]\ny = CumSum(x, a)",
             "CumSum(x){axis=1} int64[2,3]"},
        Case{"input x: float32[2,3]\nconst i: int64[] = [-1]\ny = Gather(x, i) {axis=-2}",
             "Gather(x, i) float32[3]"}));

INSTANTIATE_TEST_SUITE_P(
    Sources, CanonicalFormTest,
    ::testing::Values(Case{"input x: float32[2,3,4]\ny = Shape(x) {start=-2, end=9}",
                           "Shape(x){start=1} int64[2]"},
                      Case{"const s: int64[2] = [2,3]\ny = ConstantOfShape(s)",
                           "ConstantOfShape(){shape=[2,3]} float32[2,3]"},
                      Case{"input x: float32[s]\nconst a: int64[] = [0]\nconst b: int64[] = [1]\n"
                           "h = Shape(x)\nn = Squeeze(h)\ny = Range(a, n, b)",
                           "Range(a, n, b) int64[s]"}));

INSTANTIATE_TEST_SUITE_P(
    Resizes, CanonicalFormTest,
    ::testing::Values(
        Case{"input x: float32[1,2,4,4]\nconst roi: float32[0] = []\n"
             "const s: float32[4] = [1,1,2,2]\ny = Resize(x, roi, s) {nearest_mode=\"floor\"}",
             "Resize(x){nearest_mode=\"floor\", scales=[1.0,1.0,2.0,2.0]} float32[1,2,8,8]"},
        Case{"input x: float32[1,2,4,4]\nconst s: int64[2] = [6,5]\n"
             "y = Resize(x, _, _, s) {axes=[2,3], mode=\"linear\", nearest_mode=\"floor\"}",
             "Resize(x){mode=\"linear\", sizes=[1,2,6,5]} float32[1,2,6,5]"},
        // The region of interest is not known yet: the size is, whatever the region.
        Case{"input x: float32[1,4]\ninput roi: float32[4]\nconst s: float32[2] = [1,2.5]\n"
             "y = Resize(x, roi, s) {coordinate_transformation_mode=\"tf_crop_and_resize\"}",
             "Resize(x, roi){coordinate_transformation_mode=\"tf_crop_and_resize\", "
             "scales=[1.0,2.5]} float32[1,10]"}));

TEST(CanonicalizeTest, AnAxisThatNamesTheDefaultIsAbsent) {
  EXPECT_EQ(Canonical("input x: float32[2,3]\ny = Softmax(x) {axis=1}"), "Softmax(x) float32[2,3]");
  EXPECT_EQ(Canonical("input x: float32[2,3]\ny = Softmax(x) {axis=-2}"),
            "Softmax(x){axis=0} float32[2,3]");
}

TEST(CanonicalizeTest, FollowsShapeArithmeticToAnAttribute) {
  EXPECT_EQ(Canonical(R"(
      input x: float32[batch,seq,768]
      const zero: int64[] = [0]
      const one: int64[] = [1]
      const axes: int64[1] = [0]
      const heads: int64[1] = [12]
      const size: int64[1] = [64]
      shape = Shape(x)
      b = Gather(shape, zero)
      s = Gather(shape, one)
      b1 = Unsqueeze(b, axes)
      s1 = Unsqueeze(s, axes)
      target = Concat(b1, s1, heads, size) {axis=0}
      y = Reshape(x, target))"),
            "Reshape(x){shape=[0,0,12,64]} float32[batch,seq,12,64]");
}

// With allowzero, a batch of 0 stays 0 beside the -1. A copied 0 would not.
TEST(CanonicalizeTest, CopiesNothingBesideAMinusOneWhereZerosCount) {
  const std::string nodes = R"(
      input x: float32[N,S]
      const first: int64[1] = [0]
      const rest: int64[2] = [-1,2]
      shape = Shape(x)
      n = Gather(shape, first)
      target = Concat(n, rest) {axis=0}
      y = Reshape(x, target))";
  EXPECT_EQ(Canonical(nodes), "Reshape(x){shape=[0,-1,2]} float32[N,?,2]");
  EXPECT_EQ(Canonical(nodes + " {allowzero=1}"), "Reshape(x, target){allowzero=1} float32[N,?,2]");
}

TEST(CanonicalizeTest, ALengthCutToASymbolBroadcastsWithIt) {
  EXPECT_EQ(Canonical(R"(
      input x: float32[batch,seq,8]
      const table: float32[1,512,8] = random(1)
      const from: int64[1] = [0]
      const axis: int64[1] = [1]
      end = Shape(x) {start=1, end=2}
      positions = Slice(table, from, end, axis)
      y = Add(x, positions))"),
            "Add(x, positions) float32[batch,seq,8]");
}

TEST(CanonicalizeTest, ErrorsNameTheNode) {
  model::Graph graph = MustParse(R"(graph g {
    input x: float32[2,3]
    const s: int64[1] = [7]
    y = Reshape(x, s) @flat
    output y
  })");
  EXPECT_THAT(InferTypes(graph), HasReason(Reason::kModelShape, HasSubstr("'flat'")));
}

TEST(CanonicalizeTest, RefusesWhatContradictsItself) {
  for (const char* lines : {
           "input x: float32[2,3]\nconst p: int64[2] = [0,0]\ny = Transpose(x) {perm=[0,0]}",
           "input x: float32[2,3]\nconst a: int64[1] = [5]\ny = Squeeze(x, a)",
           "input x: float32[2,3]\nconst a: int64[1] = [0]\ny = Squeeze(x, a)",
           "input x: float32[2,3]\ninput z: float32[2,4]\ny = Concat(x, z) {axis=0}",
           "input x: float32[4]\n(y, z) = Split(x) {split=[1,1]}",
           "const s: int64[1] = [-2]\ny = ConstantOfShape(s)",
           "input x: float32[2]\nconst s: int64[2] = [4611686018427387904,4]\ny = Expand(x, s)",
           "input x: float32[2]\nconst s: float32[1] = [0]\ny = Resize(x, _, s)",
       }) {
    model::Graph graph = MustParse(absl::StrCat("graph g {\n", lines, "\noutput y\n}"));
    EXPECT_FALSE(InferTypes(graph).ok()) << lines;
  }
}

TEST(CanonicalizeTest, RefusesAParameterGivenTwice) {
  model::Graph graph = MustParse(R"(graph g {
    input x: float32[2,3]
    const s: int64[1] = [6]
    y = Reshape(x, s) {shape=[6]}
    output y
  })");
  EXPECT_THAT(InferTypes(graph), HasReason(Reason::kModelMalformed, HasSubstr("shape")));
}

// What a shape of millions of elements would become takes many times its memory.
TEST(CanonicalizeTest, RefusesAParameterThatNoOperatorCanUse) {
  const std::string ones = absl::StrJoin(std::vector<int>(65'537, 1), ",");
  model::Graph graph = MustParse(absl::StrCat("graph g {\nconst s: int64[65537] = [", ones,
                                              "]\ny = ConstantOfShape(s)\noutput y\n}"));
  EXPECT_THAT(InferTypes(graph), HasReason(Reason::kModelShape, HasSubstr("65537 elements")));
}

TEST(CanonicalizeTest, AMissingInputIsMalformed) {
  model::Graph graph = MustParse("graph g {\ninput x: float32[2]\ny = Reshape(x)\noutput y\n}");
  EXPECT_THAT(InferTypes(graph), HasReason(Reason::kModelMalformed));
}

}  // namespace
}  // namespace quotient::ops
