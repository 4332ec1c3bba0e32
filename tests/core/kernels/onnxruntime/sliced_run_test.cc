// What a run in slices finds, beside a run of the whole graph.

#include "core/kernels/onnxruntime/sliced_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/kernels/onnxruntime/shared_client.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::ModelAtOpset;
using ::testing::UnorderedElementsAre;

class SlicedRunTest : public ::testing::Test {
 protected:
  // Runs a model, as it is, on x = 3.
  static absl::StatusOr<Summaries> Run(const std::string& text) {
    const Dump graph{.model = ModelAtOpset(17, text).SerializeAsString()};
    const std::vector<float> three = {3};
    const std::vector<NamedTensor> inputs = {{"x", model::Tensor::Floats({1}, three)}};
    StoreId store;
    absl::StatusOr<Summaries> summaries = RunInSlices(SharedClient(), graph, inputs, &store);
    SharedClient().Drop(store);
    return summaries;
  }
};

std::vector<std::string> NamesOf(const Summaries& summaries) {
  std::vector<std::string> names;
  for (const auto& [name, summary] : summaries) names.push_back(name);
  return names;
}

// v0 = x + x, v1 = v0 + x, ..., all of which read the input.
std::string Chain(int nodes) {
  std::string text = absl::StrCat("g (float[1] x) => (float[1] v", nodes - 1, ") {\n");
  for (int i = 0; i < nodes; ++i) {
    absl::StrAppend(&text, "v", i, " = Add(", i == 0 ? "x" : absl::StrCat("v", i - 1), ", x)\n");
  }
  return absl::StrCat(text, "}");
}

TEST_F(SlicedRunTest, ValuesPassFromSliceToSlice) {
  constexpr int kNodes = 200;  // Several slices.
  ASSERT_OK_AND_ASSIGN(const Summaries summaries, Run(Chain(kNodes)));
  EXPECT_EQ(summaries.size(), kNodes + 1u);
  for (int i = 0; i < kNodes; ++i) {
    const OutputSummary& value = summaries.at(absl::StrCat("v", i));
    ASSERT_TRUE(value.content.has_value()) << i;
    EXPECT_EQ(value.content->GetDouble(0), 3 * (i + 2)) << i;
  }
  EXPECT_EQ(summaries.at("x").content->GetDouble(0), 3);
}

TEST_F(SlicedRunTest, ConstantsAreTold) {
  ASSERT_OK_AND_ASSIGN(const Summaries summaries,
                       Run("g (float[1] x) => (float[1] y) <float[1] c = {5}> { y = Mul(x, c) }"));
  EXPECT_THAT(NamesOf(summaries), UnorderedElementsAre("x", "c", "y"));
  EXPECT_EQ(summaries.at("c").content->GetDouble(0), 5);
  EXPECT_EQ(summaries.at("y").content->GetDouble(0), 15);
}

// Subgraphs read values and constants of the graph around them.
TEST_F(SlicedRunTest, WhatSubgraphsCaptureIsThere) {
  std::string text = Chain(100);
  text = absl::StrCat(text.substr(0, text.rfind('}')),
                      "n = Neg(v99)\nc = Less(v0, k)\n"
                      "y = If (c) <then_branch = a () => (float[1] t) { t = Add(v50, k) },"
                      " else_branch = b () => (float[1] e) { e = Add(n, k) }>\n}");
  text.replace(text.find(") {"), 3, ") <float[1] k = {7}> {");
  ASSERT_OK_AND_ASSIGN(const Summaries summaries, Run(text));
  EXPECT_EQ(summaries.at("y").content->GetDouble(0), 3 * 52 + 7);
}

// A sequence cannot pass from slice to slice, so all nodes run in one.
TEST_F(SlicedRunTest, GraphsWithSequencesRunAtOnce) {
  std::string text = Chain(100);
  text =
      absl::StrCat("g (float[1] x) => (float[1] v99, float[1] y) {\ns = SequenceConstruct(x, x)\n",
                   text.substr(text.find("{\n") + 2, text.rfind('}') - text.find("{\n") - 2),
                   "i = Constant <value_int = 1> ()\ny = SequenceAt(s, i)\n}");
  ASSERT_OK_AND_ASSIGN(const Summaries summaries, Run(text));
  EXPECT_EQ(summaries.at("y").content->GetDouble(0), 3);
  EXPECT_EQ(summaries.at("v99").content->GetDouble(0), 303);
  EXPECT_FALSE(summaries.at("s").type.is_static());
}

TEST_F(SlicedRunTest, WhatIsNoModelIsAnError) {
  StoreId store;
  EXPECT_FALSE(RunInSlices(SharedClient(), {.model = "no model"}, {}, &store).ok());
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
