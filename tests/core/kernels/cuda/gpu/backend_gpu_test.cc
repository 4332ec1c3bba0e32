// Kernels and whole graphs through the backend on a GPU, against the reference evaluator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "core/kernels/partition.h"
#include "tests/core/kernels/cuda/gpu/gpu_under_test.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/core/kernels/random_graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

class BackendGpuTest : public GpuTest {
 protected:
  // Where results go, the journal goes, too: a plan that loses the GPU is not met by the next run.
  static std::unique_ptr<Backend> Open(int lanes = 1) {
    const char* folder = std::getenv("QUOTIENT_GPU_OUT");
    const std::string compiled = folder != nullptr ? absl::StrCat(folder, "/compiled") : "";
    auto backend = NewBackend(
        0, {.policy = MathPolicy::kStrict32, .lanes = lanes, .cache_directory = compiled});
    EXPECT_OK(backend.status());
    return backend.ok() ? *std::move(backend) : nullptr;
  }
};

TEST_F(BackendGpuTest, GraphsAgreeWithTheReference) {
  ASSERT_FALSE(AllGraphCases().empty());
  for (const int lanes : {1, 3}) {
    const auto backend = Open(lanes);
    ASSERT_NE(backend, nullptr);
    for (const GraphCase& test_case : AllGraphCases()) {
      SCOPED_TRACE(test_case.name);
      ExpectReference(*backend, GraphOf(test_case), 1);
    }
  }
}

TEST_F(BackendGpuTest, RandomGraphsAgreeWithTheReference) {
  const auto backend = Open(2);
  ASSERT_NE(backend, nullptr);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::string text = RandomGraphText(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", text));
    ExpectReference(*backend, GraphOf({"random", text}), seed);
  }
}

// All ways to run them: plans of the libraries, and whether they agree with each other.
TEST_F(BackendGpuTest, EveryWayToRunAKernelCanBeTimed) {
  const auto backend = Open();
  ASSERT_NE(backend, nullptr);
  std::map<std::string, KernelSpec> specs;
  for (const GraphCase& test_case : AllGraphCases()) {
    ASSERT_OK_AND_ASSIGN(const auto groups,
                         PartitionGraph(GraphOf(test_case), backend->partition()));
    for (const KernelGroup& group : groups) {
      // A Range of random operands has another length.
      if (!group.spec.free && group.spec.op != "Range") {
        specs.emplace(KernelKey(group.spec), group.spec);
      }
    }
  }
  size_t ways = 0;
  for (const auto& [key, spec] : specs) {
    SCOPED_TRACE(key);
    ASSERT_OK_AND_ASSIGN(const auto kernels, backend->Compile(spec));
    ways += kernels.size();
    for (const auto& kernel : kernels) {
      SCOPED_TRACE(kernel->plan());
      ASSERT_OK(kernel->Run(100));
      EXPECT_GT(kernel->reading()->us, 10);  // a tenth of a microsecond each
      EXPECT_LT(kernel->reading()->us, 1e6);
    }
  }
  EXPECT_GT(ways, 0);
  std::printf("%zu kernels, %zu ways to run them\n", specs.size(), ways);
}

}  // namespace
}  // namespace quotient::kernels::cuda
