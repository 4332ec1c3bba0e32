// Whole graphs through the CUDA backend, on a GPU that is emulated, against the reference
// evaluator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/core/kernels/random_graphs.h"
#include "tests/support/cuda/host_gpu.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using quotient::testing::StatusIs;

void ExpectAgrees(const model::Graph& graph, const CudaOptions& options, uint64_t seed) {
  ExpectReference(*NewBackend(NewHostGpu(), options), graph, seed);
}

class CudaExecutableTest : public ::testing::TestWithParam<GraphCase> {};

std::string CaseName(const ::testing::TestParamInfo<GraphCase>& info) { return info.param.name; }

TEST_P(CudaExecutableTest, AgreesWithTheReference) {
  const model::Graph graph = GraphOf(GetParam());
  ExpectAgrees(graph, {.policy = MathPolicy::kStrict32}, 1);
  ExpectAgrees(graph, {.policy = MathPolicy::kStrict32, .lanes = 3}, 2);
}

TEST(CudaExecutable, RandomGraphsAgreeWithTheReference) {
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const std::string text = RandomGraphText(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", text));
    const CudaOptions options{.policy = MathPolicy::kStrict32,
                              .lanes = 1 + static_cast<int>(seed % 4)};
    ExpectAgrees(GraphOf({"random", text}), options, seed);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CudaExecutable, SaysWhatInputsItWants) {
  const auto backend = NewBackend(NewHostGpu(), CudaOptions());
  ASSERT_OK_AND_ASSIGN(
      const auto executable,
      backend->CompileGraph(GraphOf({"relu", "input x: float32[4]\ny = Relu(x)\noutput y\n"}), {}));
  EXPECT_THAT(executable->SetInputs({}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(executable->SetInputs({model::Tensor::Scalar(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaExecutableTest, ::testing::ValuesIn(AllGraphCases()), CaseName);

}  // namespace
}  // namespace quotient::kernels::cuda
