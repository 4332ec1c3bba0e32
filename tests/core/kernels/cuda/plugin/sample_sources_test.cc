// Our kernels of every kind and type are compiled for every generation of GPUs.

#include "tests/support/cuda/sample_sources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/parallel.h"
#include "tests/core/kernels/cuda/plugin/plugin_under_test.h"

namespace quotient::kernels::cuda {
namespace {

class SampleSourcesTest : public ::testing::TestWithParam<int> {};

TEST_P(SampleSourcesTest, AreCompiled) {
  const std::vector<SourceKernel> kernels = SampleSources();
  std::vector<std::string> failures(kernels.size());
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Plugin& plugin = PluginUnderTest();
  ParallelFor(std::ssize(kernels), 1, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto cubin = plugin.CompileSource(kernels[i], GetParam(), nullptr);
      if (!cubin.ok()) failures[i] = absl::StrCat(cubin.status().message(), kernels[i].source);
    }
  });
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

INSTANTIATE_TEST_SUITE_P(Capabilities, SampleSourcesTest, ::testing::Values(80, 90, 100),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace quotient::kernels::cuda
