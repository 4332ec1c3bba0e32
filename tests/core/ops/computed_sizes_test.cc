// What inference knows of sizes that are computed from symbols, through whole graphs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using model::Graph;
using testing::IsOk;
using testing::MustFind;
using testing::MustParse;

std::string TypeOf(const Graph& graph, absl::string_view name) {
  return model::ToString(graph.value(MustFind(graph, name)).type);
}

// As in Inception, where an image of any size is halved in both branches, and in models that join
// batch and sequence.
TEST(ComputedSizesTest, BranchesAgreeOnSizesThatAreComputed) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[N,3,H,W]
    input w: float32[4,3,3,3]
    input t: float32[N,S,6]
    a = Conv(x, w) {strides=[2,2], pads=[1,1,1,1]}
    b = MaxPool(x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}
    joined = Concat(a, b) {axis=1}
    rows = Reshape(t) {shape=[-1,6]}
    twice = Concat(rows, rows) {axis=0}
    back = Reshape(twice) {shape=[-1,12]}
    pairs = Add(back, back)
    output joined, twice, pairs
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "joined"), "float32[N,7,?floor((H+1)/2),?floor((W+1)/2)]");
  EXPECT_EQ(TypeOf(graph, "twice"), "float32[?(2*N*S),6]");
  EXPECT_EQ(TypeOf(graph, "pairs"), "float32[?(N*S),12]");
}

// A 0 in a computed target copies a dimension, and a -1 then makes up for it.
TEST(ComputedSizesTest, ATargetThatMayBeZeroSaysNothingBesideAMinusOne) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[N,S,4]
    const first: int64[1] = [0]
    const second: int64[1] = [1]
    const open: int64[1] = [-1]
    shape = Shape(x)
    n = Gather(shape, first)
    s = Gather(shape, second)
    joined = Mul(n, s)
    a = Concat(joined, open) {axis=0}
    b = Concat(n, open) {axis=0}
    c = Concat(joined, s) {axis=0}
    other = Reshape(x, a)
    same = Reshape(x, b)
    exact = Reshape(x, c)
    one = Reshape(x, a) {allowzero=1}
    output other, same, exact, one
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "other"), "float32[?other.0,?other.1]");
  EXPECT_EQ(TypeOf(graph, "same"), "float32[N,?(4*S)]");
  EXPECT_EQ(TypeOf(graph, "exact"), "float32[?(N*S),S]");
  EXPECT_EQ(TypeOf(graph, "one"), "float32[?(N*S),4]");
}

// What only a run can tell.
TEST(ComputedSizesTest, ATargetWithASymbolMayDivideTheElements) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[6]
    input v: int64[K]
    const open: int64[1] = [-1]
    k = Shape(v)
    target = Concat(open, k) {axis=0}
    y = Reshape(x, target)
    output y
  })");
  EXPECT_OK(InferTypes(graph));
}

TEST(ComputedSizesTest, AConcatOfTwoSymbolsHasNeither) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[N,S]
    input y: float32[M,T]
    z = Concat(x, y) {axis=1}
    output z
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "z"), "float32[?z.0,?(T+S)]");
}

// int32 may wrap where sizes are multiplied.
TEST(ComputedSizesTest, ComputedSizesAreKnownInInt64Alone) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[N,S]
    const many: int64[] = [768]
    n = Shape(x)
    wide = Mul(n, many)
    narrow = Cast(wide) {to=6}
    again = Cast(narrow) {to=7}
    y = ConstantOfShape(wide)
    z = ConstantOfShape(again)
    output y, z
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "y"), "float32[?(768*N),?(768*S)]");
  EXPECT_EQ(TypeOf(graph, "z"), "float32[?z.0,?z.1]");
}

}  // namespace
}  // namespace quotient::ops
