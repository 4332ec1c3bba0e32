#include "core/pricing/kernel_prices.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/pricing/arriving_model.h"

namespace quotient::pricing {
namespace {

using search::BillId;
using Part = KernelPrices::Part;

kernels::KernelSpec Relu(int64_t elements) {
  const auto type = model::StaticType(model::DType::kFloat32, std::vector<int64_t>{elements});
  return kernels::MakeSpec("Relu", {}, {kernels::Operand{type}}, {type}, 1, 0);
}

// Kernels are said to take 1 us, and take as many as they have elements.
class KernelPricesTest : public ::testing::Test {
 protected:
  int Kernel(int64_t elements) { return prices_.IndexOf(Relu(elements)); }
  BillId Bill(const std::vector<Part>& parts) { return prices_.BillOf(parts); }

  ArrivingModel model_{[](const kernels::KernelSpec& spec) {
    return static_cast<double>(spec.outputs[0].type.elements());
  }};
  KernelPrices prices_{&model_};
};

TEST_F(KernelPricesTest, EqualKernelsAndEqualGraphsAreOne) {
  EXPECT_EQ(Kernel(5), 0);
  EXPECT_EQ(Kernel(6), 1);
  EXPECT_EQ(Kernel(5), 0);
  const BillId bill = Bill({{0, 2}, {1, 0.5}});
  EXPECT_EQ(Bill({{0, 2}, {1, 0.5}}), bill);
  EXPECT_NE(Bill({{0, 2}, {1, 1}}), bill);
  EXPECT_NE(Bill({{0, 2}}), bill);
  EXPECT_EQ(prices_.num_bills(), 3u);
}

TEST_F(KernelPricesTest, RanksAreEvenlySpreadAndTheSameInEveryJob) {
  KernelPrices others(&model_);
  double sum = 0;
  constexpr int kKernels = 100;
  for (int i = kKernels; i > 0; --i) others.IndexOf(Relu(i));
  for (int i = 1; i <= kKernels; ++i) {
    const double rank = prices_.Rank(Kernel(i));
    EXPECT_EQ(rank, others.Rank(others.IndexOf(Relu(i))));
    EXPECT_GE(rank, 0);
    EXPECT_LT(rank, 1);
    sum += rank;
  }
  EXPECT_NEAR(sum / kKernels, 0.5, 0.1);
}

TEST_F(KernelPricesTest, PricesStayUntilTheyAreUpdated) {
  const BillId bill = Bill({{Kernel(5), 2}, {Kernel(6), 0.5}});
  EXPECT_EQ(prices_.CostOf(bill), 2.5);
  EXPECT_EQ(model_.num_waiting(), 2u);
  EXPECT_FALSE(prices_.HasNews());
  EXPECT_FALSE(prices_.Update());
  model_.Arrive();
  EXPECT_TRUE(prices_.HasNews());
  EXPECT_EQ(prices_.Price(0).us, 1);
  EXPECT_EQ(prices_.CostOf(bill), 2.5);
  EXPECT_TRUE(prices_.Update());
  EXPECT_FALSE(prices_.HasNews());
  EXPECT_EQ(prices_.version(), 1);
  EXPECT_EQ(prices_.Price(0).us, 5);
  EXPECT_EQ(prices_.Prior(0).us, 1);
  EXPECT_EQ(prices_.CostOf(bill), 13);
}

// What others measured is news, but no price changes.
TEST_F(KernelPricesTest, WhatChangesNoPriceIsNoNewVersion) {
  const BillId bill = Bill({{Kernel(5), 1}});
  model_.Arrive();
  EXPECT_TRUE(prices_.Update());
  model_.Request(Relu(77));
  model_.Arrive();
  EXPECT_TRUE(prices_.HasNews());
  EXPECT_FALSE(prices_.Update());
  EXPECT_EQ(prices_.version(), 1);
  EXPECT_EQ(prices_.CostOf(bill), 5);
}

TEST_F(KernelPricesTest, OnlyKernelsOfPromisingGraphsAreAskedFor) {
  Bill({{Kernel(5), 10}});
  EXPECT_EQ(model_.num_waiting(), 1u);
  Bill({{Kernel(5), 10}, {Kernel(6), 10}});
  EXPECT_EQ(model_.num_waiting(), 1u);
  Bill({{Kernel(5), 10}, {Kernel(7), 0.125}});
  EXPECT_EQ(model_.num_waiting(), 2u);
  Bill({{Kernel(8), 9}});
  EXPECT_EQ(model_.num_waiting(), 3u);
}

// When the best turns out to be dear, the next ones are asked for.
TEST_F(KernelPricesTest, WhatIsPromisingByNewPricesIsAskedFor) {
  Bill({{Kernel(100), 9}});
  const BillId next = Bill({{Kernel(5), 10}});
  EXPECT_EQ(model_.num_waiting(), 1u);
  model_.Arrive();
  EXPECT_TRUE(prices_.UpdateOnly());
  EXPECT_EQ(model_.num_waiting(), 0u);
  EXPECT_FALSE(prices_.Update());
  EXPECT_EQ(model_.num_waiting(), 1u);
  model_.Arrive();
  EXPECT_TRUE(prices_.Update());
  EXPECT_EQ(prices_.CostOf(next), 50);
}

TEST_F(KernelPricesTest, FewAreUnderWayAtATime) {
  Bill({{Kernel(1), 100}});
  for (int i = 2; i < 300; ++i) Bill({{0, 100}, {Kernel(i), 0.5}});
  const size_t most = model_.num_waiting();
  EXPECT_GE(most, 10u);
  EXPECT_LE(most, 50u);
  // As soon as they have arrived others may be.
  model_.Arrive();
  Bill({{0, 100}, {Kernel(300), 0.5}});
  EXPECT_EQ(model_.num_waiting(), 1u);
  prices_.Update();
  EXPECT_EQ(model_.num_waiting(), most);
  // All of the best one are.
  std::vector<Part> parts;
  for (int i = 1'000; i < 1'060; ++i) parts.push_back({Kernel(i), 1});
  Bill(parts);
  EXPECT_EQ(model_.num_waiting(), most + 60);
}

// The best may be another one after that.
TEST_F(KernelPricesTest, TheBestIsAwaited) {
  EXPECT_TRUE(prices_.BestIsKnown());
  Bill({{Kernel(100), 9}});
  const BillId next = Bill({{Kernel(5), 10}});
  EXPECT_FALSE(prices_.BestIsKnown());
  prices_.AwaitBest({});
  EXPECT_EQ(model_.waits(), 1);
  EXPECT_FALSE(prices_.BestIsKnown());
  EXPECT_TRUE(prices_.UpdateOnly());
  EXPECT_FALSE(prices_.BestIsKnown());
  prices_.AwaitBest({});
  EXPECT_TRUE(prices_.UpdateOnly());
  EXPECT_TRUE(prices_.BestIsKnown());
  EXPECT_EQ(prices_.CostOf(next), 50);
}

TEST_F(KernelPricesTest, RequestsSayHowManyAreNew) {
  const std::vector<int> kernels = {Kernel(5), Kernel(6), Kernel(5)};
  EXPECT_EQ(prices_.Request(kernels), 2);
  EXPECT_EQ(prices_.Request(kernels), 0);
  model_.Arrive();
  prices_.UpdateOnly();
  EXPECT_EQ(prices_.Request(kernels), 0);
  // Another job finds them measured.
  KernelPrices other(&model_);
  const std::vector<int> same = {other.IndexOf(Relu(5))};
  EXPECT_EQ(other.Request(same), 0);
}

TEST_F(KernelPricesTest, OnlyRequestsThatWereAnsweredByATimeCountAsMeasured) {
  prices_.Request(std::vector<int>{Kernel(5), Kernel(6)});
  EXPECT_EQ(prices_.num_measured(), 0);
  model_.Arrive();
  EXPECT_EQ(prices_.num_measured(), 2) << "even before the next update";
  prices_.Request(std::vector<int>{Kernel(7)});
  EXPECT_EQ(prices_.num_measured(), 2);
  // What another job measured was not measured for this one.
  KernelPrices other(&model_);
  other.Request(std::vector<int>{other.IndexOf(Relu(5))});
  EXPECT_EQ(other.num_measured(), 0);
}

}  // namespace
}  // namespace quotient::pricing
