// What the plug-in does on a machine without a GPU.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/reason.h"
#include "tests/core/kernels/cuda/plugin/plugin_under_test.h"
#include "tests/support/cuda/sample_sources.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {

namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::StatusIs;
using ::testing::HasSubstr;

const SourceKernel& DoublingKernel() {
  static const auto& kernel =
      *new SourceKernel{.source = R"(extern "C" __global__ void twice(const float* x, float* y) {
                     const int i = blockIdx.x * blockDim.x + threadIdx.x;
                     if (i < 100) y[i] = 2.0f * x[i];
                   })",
                        .name = "twice",
                        .grid = 4,
                        .block = 32,
                        .num_buffers = 2};
  return kernel;
}

TEST(CudaPluginTest, NamesTheDriverThatIsMissing) {
  if (dlopen("libcuda.so.1", RTLD_NOW) != nullptr) GTEST_SKIP() << "there is a driver";
  EXPECT_THAT(PluginUnderTest().OpenGpu(0, nullptr),
              HasReason(Reason::kDeviceNotPresent,
                        HasSubstr("no NVIDIA driver is installed (libcuda.so.1)")));
}

TEST(CudaPluginTest, CompilesForEveryArchitecture) {
  for (const int capability : {80, 86, 89, 90, 100, 120}) {
    const auto cubin = PluginUnderTest().CompileSource(DoublingKernel(), capability, nullptr);
    ASSERT_OK(cubin) << capability;
    EXPECT_THAT(cubin->substr(0, 4), "\177ELF") << capability;
  }
}

TEST(CudaPluginTest, CompilesTheSameToTheSame) {
  ASSERT_OK_AND_ASSIGN(const std::string one,
                       PluginUnderTest().CompileSource(DoublingKernel(), 90, nullptr));
  ASSERT_OK_AND_ASSIGN(const std::string two,
                       PluginUnderTest().CompileSource(DoublingKernel(), 90, nullptr));
  EXPECT_EQ(one, two);
}

TEST(CudaPluginTest, ShowsTheCompilersLog) {
  SourceKernel kernel = DoublingKernel();
  kernel.source = R"(extern "C" __global__ void twice() { oops(); })";
  EXPECT_THAT(PluginUnderTest().CompileSource(kernel, 90, nullptr).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(std::string(PluginUnderTest().CompileSource(kernel, 90, nullptr).status().message()),
              HasSubstr("identifier \"oops\" is undefined"));
}

TEST(CudaPluginTest, KnowsNoSuchArchitecture) {
  EXPECT_THAT(PluginUnderTest().CompileSource(DoublingKernel(), 20, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CudaPluginTest, CompilesTheBackendsKernels) {
  for (const SourceKernel& kernel : SampleSources()) {
    EXPECT_OK(PluginUnderTest().CompileSource(kernel, 90, nullptr)) << kernel.source;
  }
}

TEST(CudaPluginTest, RefusesPropertiesThatAreNone) {
  EXPECT_THAT(PluginUnderTest().NewDnnChecker("{}", 90, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace

}  // namespace quotient::kernels::cuda
