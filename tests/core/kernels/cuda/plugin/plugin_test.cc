// What the plug-in does on a machine without a GPU.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "core/base/reason.h"
#include "tests/core/kernels/cuda/plugin/plugin_under_test.h"
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
  EXPECT_THAT(PluginUnderTest().OpenGpu(0, "", nullptr),
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

// The number of registers that the only function in a cubin takes. A cubin is an ELF file, and an
// entry of kind 0x2f in its section .nv.info has that number behind the function's. 0 if there is
// no such entry.
uint32_t RegistersPerThread(const std::string& cubin) {
  const auto read = [&cubin](size_t at, auto value) {
    if (at + sizeof(value) <= cubin.size()) std::memcpy(&value, &cubin[at], sizeof(value));
    return value;
  };
  const auto sections = read(40, uint64_t{0});
  const auto header = [&](size_t i) { return sections + i * read(58, uint16_t{0}); };
  const auto names = read(header(read(62, uint16_t{0})) + 24, uint64_t{0});
  for (size_t i = 0; i < read(60, uint16_t{0}); ++i) {
    if (std::strcmp(&cubin.at(names + read(header(i), uint32_t{0})), ".nv.info") != 0) continue;
    const auto begin = read(header(i) + 24, uint64_t{0});
    const auto end = begin + read(header(i) + 32, uint64_t{0});
    for (size_t at = begin; at + 4 <= end;) {
      const bool has_size = cubin.at(at) == 4;
      if (has_size && cubin.at(at + 1) == 0x2f) return read(at + 8, uint32_t{0});
      at += has_size ? 4 + read(at + 2, uint16_t{0}) : 4;
    }
  }
  return 0;
}

TEST(CudaPluginTest, ABlocksThreadsHaveRegistersEnough) {
  SourceKernel kernel{.source = R"(
      extern "C" __global__ void mix(const float* x, float* y) {
        float values[100];
        #pragma unroll
        for (int i = 0; i < 100; ++i) values[i] = x[threadIdx.x + 1024 * i];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 100; ++i) y[threadIdx.x + 1024 * i] = values[i] * values[99 - i];
      })",
                      .name = "mix",
                      .num_buffers = 2};
  for (const int block : {128, 512, 768, 1024}) {
    kernel.block = block;
    ASSERT_OK_AND_ASSIGN(const std::string cubin,
                         PluginUnderTest().CompileSource(kernel, 90, nullptr));
    const uint32_t registers = RegistersPerThread(cubin);
    EXPECT_GT(registers, block == 128 ? 100u : 32u) << block;
    EXPECT_LE((registers + 7) / 8 * 8 * block, 65536u) << block;
  }
}

TEST(CudaPluginTest, RefusesPropertiesThatAreNone) {
  EXPECT_THAT(PluginUnderTest().NewDnnChecker("{}", 90, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace

}  // namespace quotient::kernels::cuda
