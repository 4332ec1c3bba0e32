#include "core/optimize/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/kernels/fake/fake_backend.h"
#include "core/model/text.h"
#include "core/verify/random_inputs.h"

namespace quotient::optimize {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Prepared PreparedFrom(absl::string_view nodes) {
  Prepared prepared;
  prepared.cut = *verify::Cut(*model::ParseGraph(
      absl::StrCat("graph g { input x: float32[4096]\n", nodes, "\noutput y }")));
  return prepared;
}

class DecideByRunningTest : public testing::Test {
 protected:
  // A device without a kernel for Tanh.
  static absl::StatusOr<double> RunUs(const kernels::KernelSpec& spec, int) {
    if (spec.op == "Tanh") return absl::UnimplementedError("no kernel for Tanh");
    return kernels::fake::FakeCostUs(spec);
  }

  absl::StatusOr<Decision> Decide() {
    return DecideByRunning(original_, verify::RandomInputs(original_.cut.graph, 1), reference_,
                           *backend_, {}, options_, StopCondition(&token_), &candidates_,
                           &failures_);
  }

  kernels::fake::FakeClock clock_;
  std::unique_ptr<kernels::Backend> backend_ =
      kernels::fake::NewFakeBackend(&clock_, {.run_us = RunUs});
  Prepared original_ = PreparedFrom(R"(a: float32[4096] = Erf(x)
                                       b: float32[4096] = Erf(a)
                                       y: float32[4096] = Erf(b))");
  const verify::Reference* reference_ = nullptr;
  MeasureOptions options_;
  CancelToken token_;
  std::vector<Packaged> candidates_;
  std::vector<std::string> failures_;
};

TEST_F(DecideByRunningTest, ACandidateThatCannotRunLeavesTheOthers) {
  candidates_.emplace_back().prepared = PreparedFrom("y: float32[4096] = Tanh(x)");
  candidates_.emplace_back().prepared = PreparedFrom("y: float32[4096] = Neg(x)");
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("Tanh")));
  ASSERT_EQ(candidates_.size(), 1);
  EXPECT_EQ(candidates_[0].prepared.cut.graph.nodes[0].op, "Neg");
  EXPECT_GT(decision->original.runs, 0);
  EXPECT_GT(candidates_[0].measured.runs, 0);
}

TEST_F(DecideByRunningTest, AnOriginalThatCannotRunIsAnError) {
  original_ = PreparedFrom("y: float32[4096] = Tanh(x)");
  EXPECT_EQ(Decide().status().code(), absl::StatusCode::kUnimplemented);
}

// The device computes what its graph says; that another graph was promised is as if a kernel of its
// own were wrong.
TEST_F(DecideByRunningTest, WhoeverComputesSomethingElseLeaves) {
  const auto reference = verify::Reference::Create(original_.cut, 1, 1, 1, StopCondition(), {});
  ASSERT_TRUE(reference.ok());
  reference_ = &*reference;
  candidates_.emplace_back().prepared = PreparedFrom("y: float32[4096] = Neg(x)");
  candidates_.emplace_back().prepared = PreparedFrom(R"(a: float32[4096] = Erf(x)
                                                        b: float32[4096] = Erf(a)
                                                        c: float32[4096] = Erf(b)
                                                        y: float32[4096] = Identity(c))");
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("a kernel of this device is wrong: output y")));
  EXPECT_EQ(candidates_.size(), 1);
}

// Off by a fiftieth of the norm, as where a tile is lost: that no rounding of float32 comes to, but
// products of operands that are rounded to TF32 may, over a deep network.
TEST_F(DecideByRunningTest, HowFarOffIsWrongDependsOnTheDevice) {
  original_ = PreparedFrom("y: float32[4096] = Neg(x)");
  const auto reference = verify::Reference::Create(original_.cut, 1, 1, 1, StopCondition(), {});
  ASSERT_TRUE(reference.ok());
  reference_ = &*reference;
  using Arithmetic = verify::DeviceArithmetic;
  for (const auto arithmetic : {Arithmetic::kHost, Arithmetic::kFloat32, Arithmetic::kTf32}) {
    options_.arithmetic = arithmetic;
    candidates_.clear();
    candidates_.emplace_back().prepared = PreparedFrom(R"(const most: float32[] = [0.98]
                                                          n: float32[4096] = Neg(x)
                                                          y: float32[4096] = Mul(n, most))");
    ASSERT_TRUE(Decide().ok());
    EXPECT_EQ(candidates_.size(), arithmetic == Arithmetic::kFloat32 ? 0 : 1);
  }
}

// A kernel of a graph, by its operator.
struct Kernel {
  const char* op;
  double us;
  cost::CostSource source = cost::CostSource::kMeasured;
  bool unsupported = false;
};

cost::GraphCost CostOf(const std::vector<Kernel>& kernels) {
  cost::GraphCost cost;
  for (const Kernel& kernel : kernels) {
    cost.groups.emplace_back().spec.op = kernel.op;
    cost.costs.push_back({kernel.us, 0, kernel.source, true, kernel.unsupported});
    cost.total_us += kernel.us;
  }
  return cost;
}

// Of candidates with these kernels.
Decision ByModel(const std::vector<Kernel>& original,
                 const std::vector<std::vector<Kernel>>& candidates) {
  std::vector<Packaged> packaged;
  for (const std::vector<Kernel>& kernels : candidates) {
    packaged.emplace_back().cost = CostOf(kernels);
  }
  return DecideByModel(CostOf(original), packaged);
}

constexpr cost::CostSource kModel = cost::CostSource::kModel;

TEST(DecideByModelTest, WhatWasMeasuredGoesBeforeWhatIsEstimated) {
  const std::vector<Kernel> original = {{"Conv", 10}, {"Relu", 10}};
  Decision decision = ByModel(original, {{{"Gemm", 1, kModel}}, {{"Conv", 10}, {"Abs", 9}}});
  EXPECT_EQ(decision.winner, 1);
  EXPECT_FALSE(decision.by_estimates);
  decision = ByModel(original, {{{"Gemm", 2, kModel}}, {{"Gemm", 1, kModel}}, {{"Conv", 20}}});
  EXPECT_EQ(decision.winner, 1);
  EXPECT_TRUE(decision.by_estimates);
  decision = ByModel(original, {{{"Gemm", 20, kModel}}, {{"Conv", 20}}});
  EXPECT_EQ(decision.winner, std::nullopt);
  EXPECT_FALSE(decision.by_estimates);
}

// Estimates of both cancel out.
TEST(DecideByModelTest, AGainRestsOnTheKernelsThatDiffer) {
  const std::vector<Kernel> original = {{"Erf", 5, kModel}, {"Conv", 10}, {"Relu", 10}};
  const Decision kept = ByModel(original, {{{"Erf", 5, kModel}, {"Conv", 10}}});
  EXPECT_EQ(kept.winner, 0);
  EXPECT_FALSE(kept.by_estimates);
  EXPECT_TRUE(ByModel(original, {{{"Conv", 10}, {"Relu", 10}}}).by_estimates);
  EXPECT_TRUE(
      ByModel(original, {{{"Erf", 5, kModel}, {"Erf", 5, kModel}, {"Conv", 10}}}).by_estimates);
}

TEST(DecideByModelTest, WhatTheDeviceCannotRunIsNotTaken) {
  const std::vector<Kernel> original = {{"Conv", 10}};
  EXPECT_EQ(ByModel(original, {{{"Gemm", 1, kModel, true}}, {{"Gemm", 2, kModel}}}).winner, 1);
}

}  // namespace
}  // namespace quotient::optimize
