#include "core/pricing/epilogues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <vector>

#include "tests/core/pricing/pricing_fixture.h"

namespace quotient::pricing {
namespace {

using egraph::ENodeId;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Consumer, producer and saving.
using Fused = std::tuple<ENodeId, ENodeId, double>;

class EpiloguesTest : public PricingTest {
 protected:
  // Finds the epilogues of all element-wise e-nodes.
  void Find() {
    epilogues_ = std::make_unique<Epilogues>(tensors(), operands(), &prices());
    FindAgain(enodes());
  }

  void FindAgain(const std::vector<ENodeKernel>& enodes) {
    std::vector<Epilogues::Elementwise> nodes;
    const egraph::EGraph& graph = *tensors().egraph;
    for (const egraph::ClassId cls : graph.classes()) {
      for (const ENodeId node : graph.nodes(cls)) {
        const SequenceHash hash = kernels().HashOf(node);
        if (kernels().ContentOf(node, hash).elementwise) nodes.push_back({node, hash});
      }
    }
    epilogues_->Find(nodes, enodes);
  }

  std::vector<Fused> FusionsFor(const std::vector<double>& costs) const {
    std::vector<extract::Fusion> fusions;
    epilogues_->AddFusions(costs, &fusions);
    std::vector<Fused> fused;
    for (const extract::Fusion& each : fusions) {
      fused.emplace_back(each.consumer, each.producer, each.saving);
    }
    return fused;
  }
  // Where each e-node costs 8 us.
  std::vector<Fused> Fusions() const { return FusionsFor(Costs(8)); }

  std::unique_ptr<Epilogues> epilogues_;
};

// By the prior the product takes 10 us, with the Relu 10.5, and the Relu alone takes 2.
TEST_F(EpiloguesTest, AnEpilogueSavesAllButItsShareOfWhateverItCostsAlone) {
  model_.SetPrior("MatMul", 10);
  model_.SetPrior("MatMul+Relu", 10.5);
  model_.SetPrior("Relu", 2);
  Import(R"(input x: float32[4,8]
            const w: float32[8,8] = random(1)
            m = MatMul(x, w)
            y = Relu(m)
            output y)");
  Find();
  const ENodeId relu = ENode("y"), product = ENode("m");
  EXPECT_THAT(Fusions(), UnorderedElementsAre(Fused{relu, product, 6}));
  EXPECT_THAT(FusionsFor(Costs(100)), UnorderedElementsAre(Fused{relu, product, 75}));
}

TEST_F(EpiloguesTest, NothingIsSavedByWhatMustNotBeChosen) {
  Import(R"(input x: float32[4,8]
            m = Tanh(x)
            y = Relu(m)
            output y)");
  Find();
  ASSERT_EQ(Fusions().size(), 1u);
  for (const char* const value : {"m", "y"}) {
    std::vector<double> costs = Costs(8);
    costs[ENode(value).value()] = kImpossible;
    EXPECT_THAT(FusionsFor(costs), IsEmpty()) << value;
  }
}

TEST_F(EpiloguesTest, OnlyKernelsThatCanHaveAnEpilogueAreProducers) {
  Import(R"(input x: float32[4,8]
            const w: float32[4,8] = random(1)
            s = Softmax(x) {axis=1}
            view = Flatten(x) {axis=0}
            folded = Tanh(w)
            behind_softmax = Relu(s)
            behind_view = Relu(view)
            with_folded = Add(x, folded)
            output behind_softmax, behind_view, with_folded)");
  Find();
  EXPECT_THAT(Fusions(), IsEmpty());
}

TEST_F(EpiloguesTest, WhereEitherHasNoKernelNothingFuses) {
  Import(R"(input x: float32[4,8]
            m = Tanh(x)
            y = Relu(m)
            output y)");
  Find();
  ASSERT_EQ(Fusions().size(), 1u);
  for (const char* const value : {"m", "y"}) {
    std::vector<ENodeKernel> without = enodes();
    without[ENode(value).value()].kernel = -1;
    FindAgain(without);
    EXPECT_THAT(Fusions(), IsEmpty()) << value;
  }
}

// Both operands are computed, and both kernels could do the addition.
TEST_F(EpiloguesTest, EachOperandThatAKernelComputesIsAChance) {
  Import(R"(input x: float32[4,8]
            input z: float32[4,8]
            a = Tanh(x)
            b = Abs(z)
            y = Add(a, b)
            output y)");
  Find();
  EXPECT_THAT(Fusions(), UnorderedElementsAre(Fused{ENode("y"), ENode("a"), 8},
                                              Fused{ENode("y"), ENode("b"), 8}));
}

// A rule found that the Tanh is the product of two other values.
TEST_F(EpiloguesTest, EveryWayToComputeTheOperandIsAChance) {
  Import(R"(input x: float32[4,8]
            input z: float32[4,8]
            a = Tanh(x)
            y = Relu(a)
            output y)");
  const ENodeId other = Rewrite("a", "Mul", {Class("x"), Class("z")});
  Find();
  EXPECT_THAT(Fusions(),
              UnorderedElementsAre(Fused{ENode("y"), ENode("a"), 8}, Fused{ENode("y"), other, 8}));
}

// The kernel of x - tanh(z) reads x.
TEST_F(EpiloguesTest, TheRunningValueMayBeTheSecondOperand) {
  model_.SetPrior("Tanh+~Sub", 1.25);
  Import(R"(input x: float32[4,8]
            input z: float32[4,8]
            t = Tanh(z)
            y = Sub(x, t)
            output y)");
  Find();
  EXPECT_THAT(Fusions(), UnorderedElementsAre(Fused{ENode("y"), ENode("t"), 6}));
}

TEST_F(EpiloguesTest, ProductsTakeRowsOfNumbersButNoColumns) {
  Import(R"(input x: float32[4,8]
            const w: float32[8,8] = random(1)
            const row: float32[8] = random(2)
            const column: float32[4,1] = random(3)
            m = MatMul(x, w)
            t = Tanh(x)
            rows = Add(m, row)
            columns = Add(m, column)
            elementwise = Add(t, column)
            output rows, columns, elementwise)");
  Find();
  EXPECT_THAT(Fusions(), UnorderedElementsAre(Fused{ENode("rows"), ENode("m"), 8},
                                              Fused{ENode("elementwise"), ENode("t"), 8}));
}

TEST_F(EpiloguesTest, ASmallerRunningValueIsNotFused) {
  Import(R"(input x: float32[4,8]
            input z: float32[8]
            t = Tanh(z)
            y = Add(x, t)
            output y)");
  Find();
  EXPECT_THAT(Fusions(), IsEmpty());
}

TEST_F(EpiloguesTest, AllAreFoundAnewEachTime) {
  Import(R"(input x: float32[4,8]
            t = Tanh(x)
            y = Relu(t)
            output y)");
  Find();
  epilogues_->Find({}, enodes());
  EXPECT_THAT(Fusions(), IsEmpty());
  FindAgain(enodes());
  EXPECT_THAT(Fusions(), UnorderedElementsAre(Fused{ENode("y"), ENode("t"), 8}));
}

}  // namespace
}  // namespace quotient::pricing
