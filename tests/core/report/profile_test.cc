#include "core/report/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::report {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

// Two equal products, a reshape that is free, and a Softmax that was not measured alone.
class ProfileTest : public ::testing::Test {
 protected:
  ProfileTest()
      : graph_(testing::MustParse(R"(graph g {
          input x: float32[4,8]
          const w: float32[8,8] = random(1)
          const v: float32[8,8] = random(2)
          a = MatMul(x, w)
          b = MatMul(a, v)
          c = Flatten(b)
          d = Softmax(c)
          output d
        })")) {
    EXPECT_OK(ops::InferTypes(graph_));
    auto groups = kernels::PartitionGraph(graph_, {});
    EXPECT_OK(groups.status());
    cost_.groups = *std::move(groups);
    for (const kernels::KernelGroup& group : cost_.groups) {
      if (group.spec.free)
        cost_.costs.push_back({0, 0, cost::CostSource::kFree, true});
      else if (group.spec.op == "MatMul")
        cost_.costs.push_back({10.5, 0, cost::CostSource::kMeasured, true});
      else
        cost_.costs.push_back({2, 0, cost::CostSource::kModel, true});
    }
    profile_.model_name = "m<1>.onnx";
    profile_.device = "cpu";
    profile_.fingerprint = "cpu; AMD & sons";
    profile_.measured_us = 30;
    profile_.runs = 7;
  }

  model::Graph graph_;
  cost::GraphCost cost_;
  Profile profile_;
};

TEST_F(ProfileTest, EqualKernelsAreOneRowAndTheWidestGapComesFirst) {
  DescribeKernels(graph_, cost_, std::vector<std::optional<double>>{11, 13, 7.5}, &profile_);
  ASSERT_EQ(profile_.kernels.size(), 2u);
  const ProfiledKernel& softmax = profile_.kernels[0];
  EXPECT_EQ(softmax.op, "Softmax");
  EXPECT_EQ(softmax.times, 1);
  EXPECT_EQ(softmax.gap_us(), 5.5);
  EXPECT_TRUE(softmax.estimated);
  const ProfiledKernel& product = profile_.kernels[1];
  EXPECT_EQ(product.op, "MatMul");
  EXPECT_EQ(product.operands, "4x8 [8x8]");
  EXPECT_EQ(product.node, "a");
  EXPECT_EQ(product.times, 2);
  EXPECT_EQ(product.predicted_us, 21);
  EXPECT_THAT(product.measured_us, Optional(24.0));
  EXPECT_FALSE(product.estimated);
}

// What a page prints as a whole is the sum of the rows that it prints.
TEST_F(ProfileTest, PartsAddUpToTheWhole) {
  DescribeKernels(graph_, cost_, std::vector<std::optional<double>>{11, 13, 7.5}, &profile_);
  EXPECT_DOUBLE_EQ(profile_.predicted_us, 23);
  EXPECT_THAT(profile_.kernels_us, Optional(31.5));
  for (const bool by_operator : {false, true}) {
    double predicted = 0, measured = 0;
    const auto add = [&](const auto& row) {
      predicted += row.predicted_us;
      measured += *row.measured_us;
    };
    if (by_operator)
      for (const ProfiledOperator& row : profile_.operators) add(row);
    else
      for (const ProfiledKernel& row : profile_.kernels) add(row);
    EXPECT_THAT(predicted, DoubleNear(profile_.predicted_us, 1e-9));
    EXPECT_THAT(measured, DoubleNear(*profile_.kernels_us, 1e-9));
  }
}

TEST_F(ProfileTest, TheTable) {
  DescribeKernels(graph_, cost_, std::vector<std::optional<double>>{11, 13, 7.5}, &profile_);
  profile_.notes = {"a note"};
  EXPECT_EQ(ToTable(profile_), R"(m<1>.onnx: profile on cpu (AMD & sons), 1 thread

  predicted us  measured us   ratio  
          23.0         30.0    0.77  whole, 7 runs
          23.0         31.5    0.73  sum of its kernels, each by its own runs

  by operator
           2.0          7.5    0.27  Softmax x 1
          21.0         24.0    0.88  MatMul x 2

  by kernel, equal ones together, the widest gap first
          ~2.0          7.5    0.27  Softmax 4x8  (d)
          21.0         24.0    0.88  x 2  MatMul 4x8 [8x8]  (a)
  ~ estimated, since the device does not time it

  note: a note
)");
}

TEST_F(ProfileTest, WithoutTimesOfKernelsOnlyTheWholeIsCompared) {
  DescribeKernels(graph_, cost_, {}, &profile_);
  EXPECT_EQ(profile_.kernels_us, std::nullopt);
  EXPECT_EQ(profile_.kernels[0].op, "MatMul");  // By what was predicted.
  EXPECT_EQ(profile_.kernels[0].measured_us, std::nullopt);
  const std::string table = ToTable(profile_);
  EXPECT_THAT(table, HasSubstr("          21.0            -       -  x 2  MatMul"));
  EXPECT_THAT(table, Not(HasSubstr("sum of its kernels")));
  EXPECT_THAT(ToHtml(profile_), Not(HasSubstr("<circle")));
}

TEST_F(ProfileTest, OfALongNameTheEndIsKept) {
  profile_.kernels = {
      {.op = "MatMul",
       .node = "/model/encoder/block.11/layer.0/SelfAttention/projection/q/MatMul"}};
  EXPECT_THAT(ToTable(profile_), HasSubstr("(/model/encoder/..lfAttention/projection/q/MatMul)\n"));
}

TEST_F(ProfileTest, AShortTableStillAddsUp) {
  for (int i = 0; i < 40; ++i) {
    profile_.kernels.push_back({.op = "Op", .predicted_us = 2, .measured_us = 1});
  }
  EXPECT_THAT(ToTable(profile_),
              HasSubstr("          30.0         15.0    2.00  the other 15 kinds of kernels\n"));
}

TEST_F(ProfileTest, OneOtherKindOfKernelIsOne) {
  for (int i = 0; i < 26; ++i) profile_.kernels.push_back({.op = "Op", .predicted_us = 2});
  EXPECT_THAT(ToTable(profile_), HasSubstr("           2.0            -       -  one other kind of "
                                           "kernel\n"));
}

TEST_F(ProfileTest, TheJson) {
  DescribeKernels(graph_, cost_, std::vector<std::optional<double>>{11, 13, 7.5}, &profile_);
  const auto json = nlohmann::json::parse(ToJson(profile_));
  EXPECT_EQ(json["model"], "m<1>.onnx");
  EXPECT_EQ(json["device"]["threads"], 1);
  EXPECT_EQ(json["device"]["hardware"], "AMD & sons");
  EXPECT_TRUE(json["device"]["library"].is_null());
  EXPECT_EQ(json["predicted_us"], 23);
  EXPECT_EQ(json["kernels_us"], 31.5);
  EXPECT_EQ(json["kernels"][1]["times"], 2);
  EXPECT_EQ(json["kernels"][0]["source"], "estimated");
  EXPECT_EQ(json["operators"][1]["op"], "MatMul");
}

TEST_F(ProfileTest, ThePageHasADotPerKindOfKernelAndNothingThatRuns) {
  DescribeKernels(graph_, cost_, std::vector<std::optional<double>>{11, 13, 7.5}, &profile_);
  const std::string page = ToHtml(profile_);
  size_t dots = 0;
  for (size_t at = page.find("<circle"); at != std::string::npos; at = page.find("<circle", at + 1))
    ++dots;
  EXPECT_EQ(dots, 2u);
  EXPECT_THAT(page, HasSubstr("m&lt;1&gt;.onnx"));
  EXPECT_THAT(page, HasSubstr("profile by Quotient on cpu: AMD &amp; sons, 1 thread</div>"));
  EXPECT_THAT(page, HasSubstr("AMD &amp; sons"));
  EXPECT_THAT(page, Not(HasSubstr("<1>")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("2 x MatMul 4x8 [8x8]: predicted 10.5"));
}

}  // namespace
}  // namespace quotient::report
