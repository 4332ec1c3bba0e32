// The emulator itself: what it must notice.

#include "tests/support/cuda/emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using ::testing::HasSubstr;

TEST(EmulatorTest, RunsAllThreadsOfAllBlocks) {
  const SourceKernel kernel{.source = R"(
extern "C" __global__ void fill(int* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = gridDim.x * 100 + blockIdx.x;
}
)",
                            .name = "fill",
                            .grid = 3,
                            .block = 2,
                            .num_buffers = 1};
  ASSERT_OK_AND_ASSIGN(const EmulatedKernel emulated, Emulate(kernel));
  std::vector<int> out(6);
  void* const buffers[] = {out.data()};
  ASSERT_OK(emulated.Run(buffers));
  EXPECT_THAT(out, ::testing::ElementsAre(300, 300, 301, 301, 302, 302));
}

constexpr char kReverse[] = R"(
extern "C" __global__ void reverse(const float* in, float* out) {
  __shared__ float values[64];
  values[threadIdx.x] = in[threadIdx.x];
  BARRIER;
  out[threadIdx.x] = values[63 - threadIdx.x];
}
)";

SourceKernel Reverse(const char* barrier) {
  return {
      .source = std::string("#define BARRIER ") + barrier + "\n" + kReverse + "#undef BARRIER\n",
      .name = "reverse",
      .block = 64,
      .num_buffers = 2};
}

TEST(EmulatorTest, ThreadsMeetAtBarriers) {
  const SourceKernel kernels[] = {Reverse("__syncthreads()"), Reverse("")};
  ASSERT_OK_AND_ASSIGN(const auto emulated, Emulate(kernels));
  std::vector<float> in(64), out(64), expected;
  std::iota(in.begin(), in.end(), 1.0f);
  expected.assign(in.rbegin(), in.rend());
  void* const buffers[] = {in.data(), out.data()};
  ASSERT_OK(emulated[0].Run(buffers));
  EXPECT_EQ(out, expected);
  ASSERT_OK(emulated[0].Run(buffers));
  EXPECT_EQ(out, expected);
  ASSERT_OK(emulated[1].Run(buffers));
  EXPECT_NE(out, expected);
}

TEST(EmulatorTest, ReportsThreadsThatMissABarrier) {
  ASSERT_OK_AND_ASSIGN(const EmulatedKernel emulated,
                       Emulate(Reverse("if (threadIdx.x < 32) __syncthreads()")));
  std::vector<float> in(64), out(64);
  void* const buffers[] = {in.data(), out.data()};
  EXPECT_THAT(std::string(emulated.Run(buffers).message()), HasSubstr("32 of 64 threads end"));
}

TEST(EmulatorTest, ReportsTheCompilersMessages) {
  const auto emulated = Emulate({.source = "this is no kernel", .name = "none"});
  EXPECT_EQ(emulated.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(emulated.status().message()), HasSubstr("kernels.cc"));
}

TEST(EmulatorTest, RefusesAnotherNumberOfBuffers) {
  ASSERT_OK_AND_ASSIGN(const EmulatedKernel emulated, Emulate(Reverse("__syncthreads()")));
  EXPECT_EQ(emulated.Run({}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace quotient::kernels::cuda
