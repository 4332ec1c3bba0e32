#include "core/optimize/subset_of_work.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

// The kernels of a graph with these nodes, as a CPU has them.
cost::GraphCost KernelsOf(absl::string_view nodes) {
  model::Graph graph = testing::MustParse(absl::StrCat(R"(graph g {
    input x: float32[1,8,16,16]
    const w: float32[8,8,3,3] = random(1)
    const v: float32[16,8,3,3] = random(2)
    const b: float32[8] = random(3)
    const s: float32[8] = random(4)
    const one: float32[] = [1])",
                                                       "\n", nodes, "\noutput y }"));
  EXPECT_OK(ops::InferTypes(graph));
  cost::GraphCost cost;
  const auto groups = kernels::PartitionGraph(graph, {});
  EXPECT_OK(groups.status());
  if (groups.ok()) cost.groups = *groups;
  return cost;
}

bool IsSubset(absl::string_view original, absl::string_view candidate) {
  return DoesSubsetOfWork(KernelsOf(original), KernelsOf(candidate));
}

constexpr char kConv[] = "y = Conv(x, w) {pads=[1,1,1,1]}";
constexpr char kConvWithBias[] = "y = Conv(x, w, b) {pads=[1,1,1,1]}";
constexpr char kConvAndRelu[] = R"(a = Conv(x, w) {pads=[1,1,1,1]}
                                   y = Relu(a))";

TEST(SubsetOfWork, WithoutAnOperatorBehindAKernel) {
  EXPECT_TRUE(IsSubset(kConvAndRelu, kConv));
  EXPECT_FALSE(IsSubset(kConv, kConvAndRelu));
}

TEST(SubsetOfWork, WithoutAKernel) {
  constexpr char kTwo[] = R"(a = Conv(x, w) {pads=[1,1,1,1]}
                             y = Conv(a, w) {pads=[1,1,1,1]})";
  EXPECT_TRUE(IsSubset(kTwo, kConv));
  EXPECT_FALSE(IsSubset(kConv, kTwo));
}

TEST(SubsetOfWork, NotTheSameWork) { EXPECT_FALSE(IsSubset(kConvAndRelu, kConvAndRelu)); }

TEST(SubsetOfWork, ABiasTakesThePlaceOfANormalization) {
  constexpr char kNormalized[] = R"(a = Conv(x, w) {pads=[1,1,1,1]}
                                    n = BatchNormalization(a, s, b, b, s)
                                    y = Relu(n))";
  constexpr char kFolded[] = R"(a = Conv(x, w, b) {pads=[1,1,1,1]}
                                y = Relu(a))";
  EXPECT_TRUE(IsSubset(kNormalized, kFolded));
  EXPECT_FALSE(IsSubset(kFolded, kNormalized));
  EXPECT_FALSE(IsSubset(kConv, kConvWithBias));
  EXPECT_TRUE(IsSubset(kConvWithBias, kConv));
}

TEST(SubsetOfWork, AKernelMayBecomeAnEpilogueButNotTheOtherWayRound) {
  constexpr char kPooledBetween[] = R"(a = Conv(x, w) {pads=[1,1,1,1]}
                                       p = MaxPool(a) {kernel_shape=[1,1]}
                                       y = Relu(p))";
  EXPECT_TRUE(IsSubset(kPooledBetween, kConvAndRelu));
  // The product is used twice, so that the activation cannot be a part of its kernel. Something
  // else is saved in return.
  constexpr char kFused[] = R"(a = Conv(x, w) {pads=[1,1,1,1]}
                               r = Relu(a)
                               p = MaxPool(r) {kernel_shape=[1,1]}
                               q = Softmax(p)
                               y = Concat(q, p) {axis=1})";
  constexpr char kApart[] = R"(a = Conv(x, w) {pads=[1,1,1,1]}
                               r = Relu(a)
                               p = MaxPool(a) {kernel_shape=[1,1]}
                               y = Concat(r, p) {axis=1})";
  EXPECT_FALSE(IsSubset(kFused, kApart));
}

TEST(SubsetOfWork, NotOneOfAnotherSizeOrWithOtherAttributes) {
  constexpr char kLarge[] = R"(a = Conv(x, v) {pads=[1,1,1,1]}
                               y = Relu(a))";
  EXPECT_FALSE(IsSubset(kLarge, kConv));
  EXPECT_FALSE(IsSubset(kConvAndRelu, "y = Conv(x, w) {pads=[1,1,1,1], strides=[2,2]}"));
}

}  // namespace
}  // namespace quotient::optimize
