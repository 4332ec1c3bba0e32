#include "core/pricing/slice_splits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/pricing/pricing_fixture.h"

namespace quotient::pricing {
namespace {

using egraph::ENodeId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Three parts of eight columns, which leave the last two.
constexpr char kSlices[] = R"(
  input x: float32[4,8]
  a = Slice(x) {starts=[0], ends=[2], axes=[1]}
  b = Slice(x) {starts=[2], ends=[4], axes=[1]}
  c = Slice(x) {starts=[4], ends=[6], axes=[1]}
  output a, b, c
)";
// As many parts of one Split, which are all.
constexpr char kSplit[] = R"(
  input x: float32[4,6]
  (a, b, c) = Split(x) {axis=1, split=[2,2,2]}
  output a, b, c
)";

class SliceSplitsTest : public PricingTest {
 protected:
  // Finds the splits among the parts a, b and c.
  void FindIn(absl::string_view graph) {
    Import(graph);
    splits_ = std::make_unique<SliceSplits>(tensors(), operands(), kernels(), &costs());
    splits_->Find(Parts("abc"));
  }

  // The e-nodes of values that are called by one letter each.
  std::vector<ENodeId> Parts(absl::string_view letters) const {
    std::vector<ENodeId> nodes;
    for (const char& letter : letters) nodes.push_back(ENode(absl::string_view(&letter, 1)));
    return nodes;
  }

  // How many of these form one Split where each Slice costs `us`; 0 if none do.
  size_t Combined(absl::string_view letters, double us, double operator_us = 0) const {
    const auto among = splits_->Among(Chosen(Parts(letters)), Costs(us), operator_us);
    EXPECT_LE(among.size(), 1u);
    return among.empty() ? 0 : among[0].second.parts.size();
  }

  std::vector<int> KernelsAmong(absl::string_view letters) const {
    std::vector<int> kernels;
    splits_->AddKernels(Chosen(Parts(letters)), &kernels);
    return kernels;
  }

  std::unique_ptr<SliceSplits> splits_;
};

TEST_F(SliceSplitsTest, TheKernelIsASplitWithPartsForTheGaps) {
  FindIn(kSlices);
  const auto shareable = splits_->Shareable();
  ASSERT_THAT(shareable, SizeIs(1));
  const kernels::KernelSpec spec = prices().Spec(shareable[0]->kernel);
  EXPECT_EQ(spec.op, "Split");
  EXPECT_EQ(spec.attributes.GetInt("axis", 0), 1);
  EXPECT_EQ(spec.attributes.GetInts("split"), (model::Ints{2, 2, 2, 2}));
  ASSERT_THAT(spec.inputs, SizeIs(1));
  EXPECT_EQ(ToString(spec.inputs[0].type), "float32[4,8]");
  ASSERT_THAT(spec.outputs, SizeIs(4));
  for (const kernels::Operand& output : spec.outputs) {
    EXPECT_EQ(ToString(output.type), "float32[4,2]");
  }
}

TEST_F(SliceSplitsTest, ExtractionIsToldOfTheSlicesAndWhatTheyCostTogether) {
  model_.SetPrior("Split", 3);
  FindIn(kSlices);
  const std::vector<extract::SharedKernel> shared = splits_->SharedKernels();
  ASSERT_THAT(shared, SizeIs(1));
  EXPECT_EQ(shared[0].cost, 3);
  EXPECT_EQ(shared[0].members, Parts("abc"));
}

TEST_F(SliceSplitsTest, BothListsAreParallel) {
  FindIn(R"(input x: float32[4,8]
            a = Slice(x) {starts=[0], ends=[2], axes=[1]}
            b = Slice(x) {starts=[2], ends=[4], axes=[1]}
            c = Neg(x)
            d = Slice(x) {starts=[0], ends=[3], axes=[1]}
            e = Slice(x) {starts=[3], ends=[6], axes=[1]}
            output a, b, c, d, e)");
  splits_->Find(Parts("abde"));
  const auto shareable = splits_->Shareable();
  const auto shared = splits_->SharedKernels();
  ASSERT_THAT(shareable, SizeIs(2));
  ASSERT_THAT(shared, SizeIs(2));
  for (size_t i = 0; i < shared.size(); ++i) {
    ASSERT_EQ(shared[i].members.size(), shareable[i]->slices.parts.size());
    EXPECT_EQ(shared[i].members[0], shareable[i]->slices.parts[0].slice);
  }
  EXPECT_NE(shared[0].members, shared[1].members);
}

// A device may lack a Split with so many outputs.
TEST_F(SliceSplitsTest, WhatTheDeviceLacksIsSharedOnlyIfTheOriginalHasIt) {
  model_.SetUnsupported("Split");
  FindIn(kSlices);
  EXPECT_THAT(splits_->Shareable(), IsEmpty());
  EXPECT_THAT(splits_->SharedKernels(), IsEmpty());
  EXPECT_EQ(Combined("abc", 100), 0u);
  FindIn(kSplit);
  ASSERT_THAT(splits_->Shareable(), SizeIs(1));
  EXPECT_TRUE(splits_->Shareable()[0]->original);
  EXPECT_EQ(splits_->SharedKernels()[0].cost, 1);
  EXPECT_EQ(Combined("abc", 100), 3u);
}

TEST_F(SliceSplitsTest, ChosenSlicesAreCombinedIfTheSplitIsCheaper) {
  model_.SetPrior("Split", 3);
  FindIn(kSlices);
  EXPECT_EQ(Combined("abc", 1.25), 3u);
  EXPECT_EQ(Combined("abc", 0.75), 0u);
  EXPECT_EQ(Combined("ac", 1.25), 0u) << "two cost less than the Split";
  EXPECT_EQ(Combined("ac", 1.75), 2u);
  EXPECT_EQ(Combined("b", 100), 0u) << "one is no Split";
}

TEST_F(SliceSplitsTest, AtEqualCostsOnlySlicesThatCoverTheAxisAreCombined) {
  model_.SetPrior("Split", 3);
  FindIn(kSlices);
  EXPECT_EQ(Combined("abc", 1), 0u);
  FindIn(kSplit);
  EXPECT_EQ(Combined("abc", 1), 3u);
  EXPECT_EQ(Combined("bc", 1.5), 0u);
  EXPECT_EQ(Combined("bc", 1.5, /*operator_us=*/10), 2u) << "a Split is one operator, not two";
}

TEST_F(SliceSplitsTest, WhatIsCombinedSaysWhichSplitItIsAPartOf) {
  FindIn(kSlices);
  const auto among = splits_->Among(Chosen(Parts("ac")), Costs(100), /*operator_us=*/0);
  ASSERT_THAT(among, SizeIs(1));
  EXPECT_EQ(among[0].first, splits_->Shareable()[0]);
  EXPECT_EQ(among[0].second.dim, 8);
  EXPECT_EQ(among[0].second.parts[0].slice, ENode("a"));
  EXPECT_EQ(among[0].second.parts[1].slice, ENode("c"));
}

TEST_F(SliceSplitsTest, TheKernelIsThatOfAChoiceWithMoreThanOnePart) {
  FindIn(kSlices);
  const int kernel = splits_->Shareable()[0]->kernel;
  EXPECT_THAT(KernelsAmong("abc"), ElementsAre(kernel));
  EXPECT_THAT(KernelsAmong("ac"), ElementsAre(kernel));
  EXPECT_THAT(KernelsAmong("c"), IsEmpty());
  EXPECT_THAT(KernelsAmong(""), IsEmpty());
}

// Rows lie one behind the other, so that their parts are there already.
TEST_F(SliceSplitsTest, ASplitOfRowsCostsNothing) {
  FindIn(R"(input x: float32[6,8]
            a = Slice(x) {starts=[0], ends=[2], axes=[0]}
            b = Slice(x) {starts=[2], ends=[4], axes=[0]}
            c = Slice(x) {starts=[4], ends=[6], axes=[0]}
            output a, b, c)");
  EXPECT_THAT(splits_->Shareable(), IsEmpty());
  EXPECT_THAT(KernelsAmong("abc"), IsEmpty());
  EXPECT_EQ(Combined("abc", 0), 3u);
  EXPECT_EQ(Combined("ab", 0), 0u) << "a graph with the Split would have as many nodes";
  EXPECT_EQ(Combined("ab", 1), 2u);
}

TEST_F(SliceSplitsTest, FindingForgetsWhatWasFoundBefore) {
  FindIn(kSlices);
  ASSERT_THAT(splits_->Shareable(), SizeIs(1));
  splits_->Find(Parts("a"));
  EXPECT_THAT(splits_->Shareable(), IsEmpty());
  EXPECT_THAT(KernelsAmong("abc"), IsEmpty());
}

}  // namespace
}  // namespace quotient::pricing
