#include "core/pricing/attentions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/kernels/attention.h"
#include "tests/core/pricing/pricing_fixture.h"

namespace quotient::pricing {
namespace {

using egraph::ENodeId;
using kernels::kAttentionOp;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Consumer, producer and saving.
using Fused = std::tuple<ENodeId, ENodeId, double>;

constexpr char kPlain[] = R"(
  input q: float32[2,5,4]
  input k: float32[2,4,6]
  input v: float32[2,6,3]
  s = MatMul(q, k)
  p = Softmax(s) {axis=2}
  y = MatMul(p, v)
  output y
)";

class AttentionsTest : public PricingTest {
 protected:
  // Finds the attentions that end in y.
  void FindIn(absl::string_view graph) {
    Import(graph);
    attentions_ = std::make_unique<Attentions>(tensors(), &costs());
    Find();
  }
  void Find() {
    const ENodeId products[] = {ENode("y")};
    attentions_->Find(products, enodes());
  }

  std::vector<Fused> FusionsFor(const std::vector<double>& costs) const {
    std::vector<extract::Fusion> fusions;
    attentions_->AddFusions(costs, &fusions);
    std::vector<Fused> fused;
    for (const extract::Fusion& each : fusions) {
      fused.emplace_back(each.consumer, each.producer, each.saving);
    }
    return fused;
  }

  std::vector<int> KernelsAmong(const std::vector<bool>& chosen) const {
    std::vector<int> kernels;
    attentions_->AddKernels(chosen, &kernels);
    return kernels;
  }
  std::vector<int> AllKernels() const {
    return KernelsAmong(std::vector<bool>(tensors().egraph->enode_bound(), true));
  }
  // What the only attention runs as.
  kernels::KernelSpec TheSpec() {
    const std::vector<int> kernels = AllKernels();
    EXPECT_THAT(kernels, SizeIs(1));
    return kernels.empty() ? kernels::KernelSpec() : prices().Spec(kernels[0]);
  }

  std::unique_ptr<Attentions> attentions_;
};

// Each e-node costs 8 us, so 24 without the kernel. The last product can save no more than 8.
TEST_F(AttentionsTest, WhatTheKernelSavesIsDividedBetweenTheProductAndTheSoftmax) {
  model_.SetPrior(kAttentionOp, 11);
  FindIn(kPlain);
  const ENodeId scores = ENode("s"), softmax = ENode("p"), product = ENode("y");
  EXPECT_THAT(FusionsFor(Costs(8)),
              UnorderedElementsAre(Fused{product, softmax, 8}, Fused{softmax, scores, 5}));
}

TEST_F(AttentionsTest, ASmallSavingIsThatOfTheProductAlone) {
  model_.SetPrior(kAttentionOp, 18);
  FindIn(kPlain);
  EXPECT_THAT(FusionsFor(Costs(8)), ElementsAre(Fused{ENode("y"), ENode("p"), 6}));
}

TEST_F(AttentionsTest, AFreeKernelSavesNoMoreThanTheTwoCost) {
  model_.SetPrior(kAttentionOp, 0);
  FindIn(kPlain);
  EXPECT_THAT(FusionsFor(Costs(8)), UnorderedElementsAre(Fused{ENode("y"), ENode("p"), 8},
                                                         Fused{ENode("p"), ENode("s"), 8}));
}

TEST_F(AttentionsTest, NothingIsSavedByAKernelThatIsNoCheaperOrImpossible) {
  model_.SetPrior(kAttentionOp, 24);
  FindIn(kPlain);
  EXPECT_THAT(FusionsFor(Costs(8)), IsEmpty());
  std::vector<double> costs = Costs(100);
  ASSERT_FALSE(FusionsFor(costs).empty());
  costs[ENode("s").value()] = kImpossible;
  EXPECT_THAT(FusionsFor(costs), IsEmpty());
}

TEST_F(AttentionsTest, WhatTheDeviceLacksSavesNothing) {
  model_.SetUnsupported(kAttentionOp);
  FindIn(kPlain);
  EXPECT_THAT(FusionsFor(Costs(8)), IsEmpty());
}

TEST_F(AttentionsTest, OfSeveralAttentionsWithOnePairTheLargestSavingCounts) {
  model_.SetPrior(kAttentionOp, 3);
  FindIn(R"(input q: float32[2,5,4]
            input k: float32[2,4,6]
            input v: float32[2,6,3]
            input other: float32[2,4,6]
            const c: float32[] = [2]
            s = MatMul(q, k)
            d = Mul(s, c)
            p = Softmax(d) {axis=2}
            y = MatMul(p, v)
            output y)");
  Rewrite("s", "MatMul", {Class("q"), Class("other")});
  Find();
  std::vector<double> costs = Costs(2);
  costs[ENode("s").value()] = 1;
  // The first saves 1 + 2 + 2 - 3 = 2, the one with the new product 2 + 2 + 2 - 3 = 3.
  EXPECT_THAT(FusionsFor(costs), UnorderedElementsAre(Fused{ENode("y"), ENode("p"), 2},
                                                      Fused{ENode("p"), ENode("d"), 1}));
}

TEST_F(AttentionsTest, NoneIsFoundWhereAValueInsideIsAnOutput) {
  for (const char* const inside : {"s", "d", "m", "p"}) {
    FindIn(absl::StrCat(R"(input q: float32[2,5,4]
                           input k: float32[2,4,6]
                           input v: float32[2,6,3]
                           input mask: float32[2,5,6]
                           s = MatMul(q, k)
                           m = Add(s, mask)
                           d = Neg(q)
                           p = Softmax(m) {axis=2}
                           y = MatMul(p, v)
                           output y, )",
                        inside));
    const bool is_inside = *inside != 'd';
    EXPECT_THAT(AllKernels(), SizeIs(is_inside ? 0 : 1)) << inside;
    EXPECT_EQ(FusionsFor(Costs(8)).empty(), is_inside) << inside;
  }
}

// Two axes are a plain product of matrices.
TEST_F(AttentionsTest, ShapesThatNoSuchKernelHasAreNone) {
  FindIn(R"(input q: float32[5,4]
            input k: float32[4,6]
            input v: float32[6,3]
            s = MatMul(q, k)
            p = Softmax(s) {axis=1}
            y = MatMul(p, v)
            output y)");
  EXPECT_THAT(AllKernels(), IsEmpty());
  EXPECT_THAT(FusionsFor(Costs(8)), IsEmpty());
}

TEST_F(AttentionsTest, TheKernelReadsWhatStandsBeforeTheTransposes) {
  FindIn(R"(input q: float32[2,5,7,4]
            input k: float32[2,6,7,4]
            input v: float32[2,6,7,3]
            input mask: float32[5,6]
            const eight: float32[] = [8]
            a = Transpose(q) {perm=[0,2,1,3]}
            b = Transpose(k) {perm=[0,2,3,1]}
            c = Transpose(v) {perm=[0,2,1,3]}
            s = MatMul(a, b)
            d = Div(s, eight)
            m = Add(mask, d)
            p = Softmax(m) {axis=3}
            y = MatMul(p, c)
            output y)");
  const kernels::KernelSpec spec = TheSpec();
  EXPECT_EQ(spec.op, kAttentionOp);
  EXPECT_EQ(spec.attributes.GetFloat("scale", 1), 0.125);
  EXPECT_EQ(spec.attributes.GetInts("q_perm"), (model::Ints{0, 2, 1, 3}));
  EXPECT_EQ(spec.attributes.GetInts("k_perm"), (model::Ints{0, 2, 3, 1}));
  EXPECT_EQ(spec.attributes.GetInts("v_perm"), (model::Ints{0, 2, 1, 3}));
  std::vector<std::vector<int64_t>> dims;
  for (const kernels::Operand& operand : spec.inputs) {
    dims.push_back(operand.type.dims());
    EXPECT_EQ(operand.layout, kernels::Layout::kPlain);
  }
  using Dims = std::vector<int64_t>;
  EXPECT_THAT(dims, ElementsAre(Dims{2, 5, 7, 4}, Dims{2, 6, 7, 4}, Dims{2, 6, 7, 3}, Dims{5, 6}));
  ASSERT_THAT(spec.outputs, SizeIs(1));
  EXPECT_EQ(spec.outputs[0].type.dims(), (Dims{2, 7, 5, 3}));
}

TEST_F(AttentionsTest, WithoutScaleMaskAndTransposesThereAreNoSuchAttributes) {
  FindIn(kPlain);
  const kernels::KernelSpec spec = TheSpec();
  EXPECT_TRUE(spec.attributes == model::AttributeMap());
  EXPECT_THAT(spec.inputs, SizeIs(3));
}

TEST_F(AttentionsTest, TheKernelIsThatOfAChoiceOnlyIfAllOfItIsChosen) {
  FindIn(R"(input q: float32[2,5,4]
            input k: float32[2,6,4]
            input v: float32[2,6,3]
            input mask: float32[2,5,6]
            t = Transpose(k) {perm=[0,2,1]}
            s = MatMul(q, t)
            m = Add(s, mask)
            p = Softmax(m) {axis=2}
            y = MatMul(p, v)
            output y)");
  const std::vector<ENodeId> all = {ENode("t"), ENode("s"), ENode("m"), ENode("p"), ENode("y")};
  EXPECT_THAT(KernelsAmong(Chosen(all)), SizeIs(1));
  for (size_t left_out = 0; left_out < all.size(); ++left_out) {
    std::vector<ENodeId> some = all;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(left_out));
    EXPECT_THAT(KernelsAmong(Chosen(some)), IsEmpty()) << left_out;
  }
}

TEST_F(AttentionsTest, FindingForgetsWhatWasFoundBefore) {
  FindIn(kPlain);
  ASSERT_THAT(AllKernels(), SizeIs(1));
  Find();
  EXPECT_THAT(AllKernels(), SizeIs(1));
  attentions_->Find({}, enodes());
  EXPECT_THAT(AllKernels(), IsEmpty());
}

}  // namespace
}  // namespace quotient::pricing
