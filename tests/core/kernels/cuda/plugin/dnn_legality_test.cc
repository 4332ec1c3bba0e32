// What cuDNN would run on an H200, and how, asked without one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/core/kernels/cuda/dnn_cases.h"
#include "tests/core/kernels/cuda/plugin/plugin_under_test.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {

namespace {

using ::quotient::testing::IsOk;
using ::quotient::testing::StatusIs;

// The best that there is.
enum class Support { kPrecompiled, kCompiledAtRunTime, kNone };
constexpr Support kPre = Support::kPrecompiled;
constexpr Support kRun = Support::kCompiledAtRunTime;
constexpr Support kNone = Support::kNone;

void PrintTo(Support support, std::ostream* os) {
  *os << (support == kPre ? "precompiled" : support == kRun ? "compiled at run time" : "none");
}

struct Expected {
  Support with_tensor_cores;  // tf32, float16, bfloat16: all the same
  Support strict32;
};

// Seen with cuDNN 9.19. A later version may do more.
const std::map<std::string, Expected>& Expectations() {
  static const auto& expectations = *new std::map<std::string, Expected>{
      {"conv", {kPre, kPre}},
      {"conv_bias", {kPre, kPre}},
      {"conv_bias_relu", {kPre, kPre}},
      {"conv_relu", {kRun, kRun}},
      {"conv_residual_bias_relu", {kPre, kPre}},
      {"conv_bias_residual_relu", {kRun, kRun}},
      {"conv_bias_sigmoid", {kPre, kPre}},
      {"conv_bias_tanh", {kPre, kPre}},
      {"conv_bias_gelu_erf", {kRun, kRun}},
      {"conv_bias_gelu_tanh", {kRun, kRun}},
      {"conv_bias_swish", {kRun, kRun}},
      {"conv_bias_elu", {kPre, kPre}},
      {"conv_bias_clip", {kRun, kRun}},
      {"conv_bias_leaky_relu", {kRun, kRun}},
      {"conv_bias_hard_swish", {kRun, kRun}},
      {"conv_scale_bias_relu", {kRun, kRun}},
      {"grouped_conv_bias_relu", {kPre, kPre}},
      {"depthwise_conv", {kPre, kPre}},
      {"depthwise_conv_bias_relu", {kPre, kPre}},
      {"relu_conv", {kRun, kNone}},
      {"conv_conv", {kNone, kNone}},
      {"conv_7x7_stride_2_uneven_pads", {kPre, kPre}},
      {"conv_3_channels", {kPre, kPre}},
      {"dilated_conv", {kPre, kPre}},
      {"conv_3d_bias_relu", {kPre, kPre}},
      {"transposed_conv", {kPre, kPre}},
      {"transposed_conv_bias_relu", {kRun, kRun}},
      {"product", {kRun, kNone}},
      {"product_batched", {kRun, kNone}},
      {"product_odd", {kRun, kNone}},
      {"product_of_a_row", {kRun, kNone}},
      {"product_transposed_b", {kRun, kNone}},
      {"product_bias_gelu", {kRun, kNone}},
      {"product_bias_relu_residual", {kRun, kNone}},
      {"gated_product", {kRun, kNone}},
      {"relu_product", {kRun, kNone}},
      {"attention", {kRun, kNone}},
      {"attention_bias", {kRun, kNone}},
      {"attention_mask", {kRun, kNone}},
      {"attention_of_77_keys", {kRun, kNone}},
      {"attention_keys_as_columns", {kNone, kNone}},
      {"attention_heads_last", {kRun, kNone}},
      {"chain", {kRun, kRun}},
      {"tree_of_four", {kRun, kRun}},
      {"broadcast_row", {kRun, kRun}},
      {"broadcast_column", {kRun, kRun}},
      {"transposed_operand", {kNone, kNone}},
      {"reduce_sum", {kRun, kRun}},
      {"reduce_mean", {kNone, kNone}},
      {"reduce_max", {kRun, kRun}},
      {"reduce_min", {kRun, kRun}},
      {"reduce_prod", {kNone, kNone}},
      {"layer_norm", {kRun, kRun}},
      {"add_layer_norm", {kRun, kRun}},
      {"rms_norm", {kRun, kRun}},
      {"max_pool", {kRun, kRun}},
      {"average_pool_with_padding", {kRun, kRun}},
      {"average_pool_without_padding", {kRun, kRun}},
  };
  return expectations;
}

Support SupportOf(const std::vector<LibraryPlan>& plans) {
  if (plans.empty()) return kNone;
  const bool all_compile = std::all_of(plans.begin(), plans.end(), [](const LibraryPlan& plan) {
    return plan.compiled_at_run_time;
  });
  return all_compile ? kRun : kPre;
}

std::vector<std::string> Names(const std::vector<LibraryPlan>& plans) {
  std::vector<std::string> names;
  for (const LibraryPlan& plan : plans) names.push_back(plan.name);
  return names;
}

class DnnLegalityTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    can_compile_ = LoadDriverOrStub();
    checker_ = H200Checker().release();
  }

  static std::vector<LibraryPlan> Plans(const DnnCase& c) {
    absl::StatusOr<std::vector<LibraryPlan>> plans = checker_->Plans(c.graph);
    EXPECT_OK(plans) << c.name;
    return plans.ok() ? *std::move(plans) : std::vector<LibraryPlan>();
  }

  static void Check(model::DType type, MathPolicy policy, Support Expected::*column) {
    for (const DnnCase& c : DnnCases(type, policy)) {
      const auto expected = Expectations().find(c.name);
      ASSERT_NE(expected, Expectations().end()) << c.name;
      const Support support = SupportOf(Plans(c));
      if (!can_compile_ && expected->second.*column == kRun) continue;
      EXPECT_EQ(support, expected->second.*column) << c.name;
    }
  }

  static bool can_compile_;
  static DnnChecker* checker_;
};
bool DnnLegalityTest::can_compile_ = false;
DnnChecker* DnnLegalityTest::checker_ = nullptr;

TEST_F(DnnLegalityTest, Tf32) {
  Check(model::DType::kFloat32, MathPolicy::kTf32, &Expected::with_tensor_cores);
}
TEST_F(DnnLegalityTest, Strict32) {
  Check(model::DType::kFloat32, MathPolicy::kStrict32, &Expected::strict32);
}
TEST_F(DnnLegalityTest, Float16) {
  Check(model::DType::kFloat16, MathPolicy::kTf32, &Expected::with_tensor_cores);
}
TEST_F(DnnLegalityTest, Bfloat16) {
  Check(model::DType::kBfloat16, MathPolicy::kTf32, &Expected::with_tensor_cores);
}

TEST_F(DnnLegalityTest, Strict32IsTf32WithoutTensorCores) {
  const auto tf32 = DnnCases(model::DType::kFloat32, MathPolicy::kTf32);
  const auto strict32 = DnnCases(model::DType::kFloat32, MathPolicy::kStrict32);
  for (size_t i = 0; i < tf32.size(); ++i) {
    std::vector<LibraryPlan> plans = Plans(tf32[i]);
    std::erase_if(plans, [](const LibraryPlan& plan) { return plan.tensor_cores; });
    EXPECT_EQ(Names(Plans(strict32[i])), Names(plans)) << tf32[i].name;
  }
}

TEST_F(DnnLegalityTest, ThePolicyIsNothingToPointwiseGraphs) {
  for (const DnnCase& c : DnnCases(model::DType::kFloat32, MathPolicy::kTf32)) {
    if (c.name != "chain" && c.name != "reduce_sum" && c.name != "layer_norm") continue;
    for (const LibraryPlan& plan : Plans(c)) EXPECT_FALSE(plan.tensor_cores) << c.name;
  }
}

TEST_F(DnnLegalityTest, PrecompiledPlansBuildByTheirNames) {
  for (const model::DType type : {model::DType::kFloat32, model::DType::kFloat16}) {
    for (const DnnCase& c : DnnCases(type, MathPolicy::kTf32)) {
      for (const LibraryPlan& plan : Plans(c)) {
        if (plan.compiled_at_run_time) continue;
        EXPECT_OK(checker_->Build(c.graph, plan.name)) << c.name << " by " << plan.name;
      }
    }
  }
}

TEST_F(DnnLegalityTest, PlansCompileAtRunTime) {
  if (!can_compile_) GTEST_SKIP() << "no libcuda.so.1, nor one to link with";
  // One of each kind: this takes up to a second each.
  const std::vector<std::string> kinds = {
      "conv_bias_gelu_erf", "conv_bias_leaky_relu", "conv_bias_hard_swish", "product_bias_gelu",
      "attention",          "gated_product",        "layer_norm",           "max_pool"};
  for (const DnnCase& c : DnnCases(model::DType::kFloat16, MathPolicy::kTf32)) {
    if (std::find(kinds.begin(), kinds.end(), c.name) == kinds.end()) continue;
    const std::vector<LibraryPlan> plans = Plans(c);
    ASSERT_FALSE(plans.empty()) << c.name;
    EXPECT_OK(checker_->Build(c.graph, plans[0].name)) << c.name << " by " << plans[0].name;
  }
}

TEST_F(DnnLegalityTest, NamesAreStable) {
  const auto other = H200Checker();
  for (const DnnCase& c : DnnCases(model::DType::kFloat16, MathPolicy::kTf32)) {
    ASSERT_OK_AND_ASSIGN(const std::vector<LibraryPlan> again, other->Plans(c.graph));
    EXPECT_EQ(Names(Plans(c)), Names(again)) << c.name;
  }
}

TEST_F(DnnLegalityTest, AnswersSeveralThreadsAtOnce) {
  std::vector<DnnCase> cases = DnnCases(model::DType::kFloat16, MathPolicy::kTf32);
  cases.resize(10);
  std::vector<std::vector<std::string>> expected;
  for (const DnnCase& c : cases) expected.push_back(Names(Plans(c)));
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(Names(Plans(cases[i])), expected[i]);
    });
  }
}

TEST_F(DnnLegalityTest, RefusesNamesOfNoPlan) {
  const DnnCase c = DnnCases(model::DType::kFloat32, MathPolicy::kTf32).front();
  for (const char* name :
       {"", "engine", "engine=x", "motor=1", "engine=1,knob=2", "engine=1,2=3"}) {
    EXPECT_THAT(checker_->Build(c.graph, name), StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
  }
  EXPECT_THAT(checker_->Build(c.graph, "engine=100000"),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(checker_->Build(c.graph, "engine=0,knob9=9"),
              StatusIs(absl::StatusCode::kUnimplemented));
}

TEST_F(DnnLegalityTest, RefusesGraphsThatMakeNoSense) {
  DnnGraph graph = DnnCases(model::DType::kFloat32, MathPolicy::kTf32).front().graph;
  DnnGraph integers = graph;
  integers.tensors[0].type = model::DType::kInt64;
  EXPECT_THAT(checker_->Plans(integers), StatusIs(absl::StatusCode::kInvalidArgument));
  DnnGraph beyond = graph;
  beyond.nodes[0].inputs[1] = 99;
  EXPECT_THAT(checker_->Plans(beyond), StatusIs(absl::StatusCode::kInvalidArgument));
  DnnGraph unary = graph;
  unary.nodes[0].inputs.pop_back();
  EXPECT_THAT(checker_->Plans(unary), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace

}  // namespace quotient::kernels::cuda
