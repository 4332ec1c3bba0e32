#include "core/pricing/blocked_layouts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/kernels/ort_fusions.h"
#include "tests/core/pricing/pricing_fixture.h"

namespace quotient::pricing {
namespace {

using egraph::ENodeId;

// All kernels take a microsecond. Blocks have 16 channels.
class BlockedLayoutsTest : public PricingTest {
 protected:
  explicit BlockedLayoutsTest(kernels::PartitionOptions partition =
                                  {.runtime = kernels::FindRuntimeFusions("onnxruntime/16")})
      : PricingTest(partition) {}

  // By how many changes of layout an e-node is charged.
  double ChangesAt(ENodeId node) {
    BlockedLayouts layouts(tensors(), &costs());
    layouts.Find(enodes());
    return layouts.Costs()[node.value()];
  }
  double ChangesAt(absl::string_view value) { return ChangesAt(ENode(value)); }
};

constexpr char kHead[] = R"(
    input x: float32[1,16,8,8]
    const w: float32[16,16,3,3] = random(1)
    const v: float32[16,16,3,3] = random(2)
    const s: float32[1] = random(3)
    const t: float32[16,1,1] = random(4)
)";

TEST_F(BlockedLayoutsTest, BetweenConvsWhatIsPlainPaysOnBothSides) {
  Import(absl::StrCat(kHead, R"(
    c = Conv(x, w) {pads=[1,1,1,1]}
    m = Mul(c, s)
    a = Add(m, t)
    y = Conv(a, v) {pads=[1,1,1,1]}
    output y)"));
  EXPECT_EQ(ChangesAt("c"), 0);
  EXPECT_EQ(ChangesAt("m"), 1);  // Out of blocks.
  EXPECT_EQ(ChangesAt("a"), 1);  // Into blocks.
  EXPECT_EQ(ChangesAt("y"), 0);
}

TEST_F(BlockedLayoutsTest, WhatStaysInBlocksPaysNothing) {
  Import(absl::StrCat(kHead, R"(
    c = Conv(x, w) {pads=[1,1,1,1]}
    r = Relu(c)
    d = Conv(r, v) {pads=[1,1,1,1]}
    e = Add(d, r)
    p = MaxPool(e) {kernel_shape=[2,2]}
    y = Conv(p, v) {pads=[1,1,1,1]}
    output y)"));
  for (const char* value : {"c", "r", "d", "e", "p", "y"}) EXPECT_EQ(ChangesAt(value), 0) << value;
}

// A sum with a plain value is plain: one operand comes out of blocks, the result goes into them.
TEST_F(BlockedLayoutsTest, ASumIsBlockedOnlyIfBothOperandsAre) {
  Import(absl::StrCat(kHead, R"(
    c = Conv(x, w) {pads=[1,1,1,1]}
    a = Add(c, x)
    y = Conv(a, v) {pads=[1,1,1,1]}
    output y)"));
  EXPECT_EQ(ChangesAt("a"), 2);
}

// Views have no kernel, but not in blocks.
TEST_F(BlockedLayoutsTest, AViewOfABlockedValuePays) {
  Import(absl::StrCat(kHead, R"(
    c = Conv(x, w) {pads=[1,1,1,1]}
    y = Reshape(c) {shape=[16,64]}
    output y)"));
  EXPECT_EQ(ChangesAt("y"), 1);
}

// Its value is blocked by the other form, and each pays for itself.
TEST_F(BlockedLayoutsTest, EachFormOfAValueHasItsOwnCost) {
  Import(absl::StrCat(kHead, R"(
    const f: float32[16,1,1,1] = random(5)
    c = Conv(x, w) {pads=[1,1,1,1]}
    r = Relu(c)
    m = Mul(r, s)
    y = Conv(m, v) {pads=[1,1,1,1]}
    output y
    output f)"));
  EXPECT_EQ(ChangesAt("m"), 2);
  const ENodeId depthwise =
      Rewrite("m", "Conv", {Class("r"), Class("f")}, {{"group", int64_t{16}}});
  EXPECT_EQ(ChangesAt("m"), 2);
  EXPECT_EQ(ChangesAt(depthwise), 0);
}

class WithoutRuntimeTest : public BlockedLayoutsTest {
 protected:
  WithoutRuntimeTest() : BlockedLayoutsTest(kernels::PartitionOptions{}) {}
};

TEST_F(WithoutRuntimeTest, NothingIsCharged) {
  Import(absl::StrCat(kHead, R"(
    c = Conv(x, w) {pads=[1,1,1,1]}
    m = Mul(c, s)
    y = Conv(m, v) {pads=[1,1,1,1]}
    output y)"));
  EXPECT_EQ(ChangesAt("m"), 0);
}

TEST_F(BlockedLayoutsTest, KernelsOfChangesAreThoseOfTheENodesThatPay) {
  Import(absl::StrCat(kHead, R"(
    c = Conv(x, w) {pads=[1,1,1,1]}
    m = Mul(c, s)
    y = Conv(m, v) {pads=[1,1,1,1]}
    output y)"));
  BlockedLayouts layouts(tensors(), &costs());
  layouts.Find(enodes());
  std::vector<int> kernels;
  const std::vector<ENodeId> both = {ENode("c"), ENode("m")};
  layouts.AddKernels(both, &kernels);
  ASSERT_EQ(kernels.size(), 2u);
  for (const int kernel : kernels) EXPECT_EQ(prices().Spec(kernel).op, kernels::kReorderOp);
}

}  // namespace
}  // namespace quotient::pricing
