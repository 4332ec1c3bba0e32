// The plug-in on a GPU: memory, our own kernels, capture, calls of the host, the clock.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "core/base/reason.h"
#include "tests/core/kernels/cuda/dnn_cases.h"
#include "tests/core/kernels/cuda/gpu/gpu_under_test.h"
#include "tests/support/cuda/sample_sources.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {

namespace {

using ::quotient::testing::StatusIs;

constexpr model::DType kFloat = model::DType::kFloat32;
constexpr int64_t kElements = 1000;

// y[i] = `expression` of a = x[i] (and b = z[i]).
SourceKernel Elementwise(const std::string& expression, bool binary) {
  SourceKernel kernel;
  kernel.name = "elementwise";
  kernel.source = std::string("extern \"C\" __global__ void elementwise(const float* x, ") +
                  (binary ? "const float* z, " : "") +
                  "float* y) {\n"
                  "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "  if (i >= 1000) return;\n"
                  "  const float a = x[i];\n" +
                  (binary ? "  const float b = z[i];\n" : "") + "  y[i] = " + expression + ";\n}\n";
  kernel.grid = 8;
  kernel.block = 128;
  kernel.num_buffers = binary ? 3 : 2;
  return kernel;
}

class GpuBasicsTest : public GpuTest {
 protected:
  std::unique_ptr<Launcher> Make(const std::string& expression, bool binary = false) {
    auto launcher = gpu().Prepare(Elementwise(expression, binary));
    EXPECT_OK(launcher);
    return launcher.ok() ? *std::move(launcher) : nullptr;
  }
  std::unique_ptr<Buffer> Empty() { return Upload(gpu(), HostArray::Nans(kFloat, kElements)); }
  HostArray Content(const Buffer& buffer) {
    HostArray array(kFloat, kElements);
    Download(gpu(), buffer, &array);
    return array;
  }
};

Step StepOf(const Launcher& launcher, std::vector<DeviceAddress> buffers, int lane = 0,
            std::vector<int> after = {}) {
  Step step;
  step.launcher = &launcher;
  step.buffers = std::move(buffers);
  step.lane = lane;
  step.after = std::move(after);
  return step;
}

TEST_F(GpuBasicsTest, KnowsWhatItIs) {
  const GpuFacts& facts = gpu().facts();
  std::printf(
      "%s, compute capability %d, %d processors, %lld bytes, L2 %lld bytes, bus %d bits, "
      "%d and %d kHz, ECC %d, power limit '%s' W, MIG '%s', TF32 override '%s'; driver %d, "
      "runtime %d, cuDNN %d, cuBLASLt %d, NVRTC %d\n",
      facts.name.c_str(), facts.compute_capability, facts.processors,
      static_cast<long long>(facts.memory_bytes), static_cast<long long>(facts.l2_bytes),
      facts.bus_bits, facts.max_clock_khz, facts.max_memory_clock_khz, facts.ecc ? 1 : 0,
      facts.power_limit_watts.c_str(), facts.mig_mode.c_str(), facts.tf32_override.c_str(),
      facts.driver_version, facts.runtime_version, facts.cudnn_version, facts.cublaslt_version,
      facts.nvrtc_version);
  EXPECT_GE(facts.compute_capability, 80);
  EXPECT_GT(facts.processors, 0);
  EXPECT_GT(facts.l2_bytes, 0);
  EXPECT_GT(facts.max_clock_khz, 0);
  EXPECT_GT(facts.nvrtc_version, 0);
  WriteOut("properties.json", facts.properties_json);
}

TEST_F(GpuBasicsTest, KeepsWhatIsUploaded) {
  const HostArray x = HostArray::Random(kFloat, kElements, 1);
  const auto buffer = Upload(gpu(), x);
  EXPECT_EQ(buffer->address() % 256, 0u);
  EXPECT_EQ(RelativeError(Content(*buffer), x), 0);
}

TEST_F(GpuBasicsTest, SaysThatMemoryIsShortAndGoesOn) {
  EXPECT_THAT(gpu().Allocate(int64_t{1} << 50), StatusIs(absl::StatusCode::kResourceExhausted));
  const HostArray x = HostArray::Random(kFloat, kElements, 1);
  const auto in = Upload(gpu(), x);
  const auto out = Empty();
  const auto twice = Make("2.0f * a");
  ASSERT_OK(Run(*twice, {in->address(), out->address()}));
  EXPECT_EQ(Content(*out).Get(7), 2 * x.Get(7));
}

TEST_F(GpuBasicsTest, LoadsAllOfTheBackendsKernels) {
  for (const SourceKernel& kernel : SampleSources()) EXPECT_OK(gpu().Prepare(kernel));
}

// Each thread would like a hundred registers, of which a block has 64 for each.
TEST_F(GpuBasicsTest, StartsBlocksOfAThousandThreads) {
  SourceKernel kernel;
  kernel.name = "mix";
  kernel.source = R"(extern "C" __global__ void mix(const float* x, float* y) {
    float values[100];
    #pragma unroll
    for (int i = 0; i < 100; ++i) values[i] = x[threadIdx.x + 1024 * i];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 100; ++i) y[threadIdx.x + 1024 * i] = values[i] * values[99 - i];
  })";
  kernel.block = 1024;
  kernel.num_buffers = 2;
  ASSERT_OK_AND_ASSIGN(const auto mix, gpu().Prepare(kernel));
  const HostArray x = HostArray::Random(kFloat, 100 * 1024, 1);
  const auto in = Upload(gpu(), x);
  const auto out = Upload(gpu(), HostArray::Nans(kFloat, 100 * 1024));
  ASSERT_OK(Run(*mix, {in->address(), out->address()}));
  HostArray y(kFloat, 100 * 1024);
  Download(gpu(), *out, &y);
  for (const int64_t i : {0, 1023, 50 * 1024, 100 * 1024 - 1}) {
    const float left = static_cast<float>(x.Get(i));
    const float right = static_cast<float>(x.Get((99 - i / 1024) * 1024 + i % 1024));
    EXPECT_EQ(y.Get(i), left * right) << i;
  }
}

TEST_F(GpuBasicsTest, LanesWaitForWhatTheyComeAfter) {
  const HostArray x = HostArray::Random(kFloat, kElements, 1);
  const auto b0 = Upload(gpu(), x);
  const auto b1 = Empty();
  const auto b2 = Empty();
  const auto b3 = Empty();
  const auto b4 = Empty();
  const auto twice = Make("2.0f * a");
  const auto slowly_twice = Make(
      "[&] { for (int k = 0; k < 20; ++k) __nanosleep(1000);"
      " return 2.0f * a; }()");
  const auto sum = Make("a + b", true);
  const std::vector<Step> steps = {
      StepOf(*slowly_twice, {b0->address(), b1->address()}),
      StepOf(*slowly_twice, {b1->address(), b2->address()}, /*lane=*/1, {0}),
      StepOf(*twice, {b1->address(), b3->address()}),
      StepOf(*sum, {b2->address(), b3->address(), b4->address()}, /*lane=*/0, {1}),
  };
  ASSERT_OK_AND_ASSIGN(const auto replay, gpu().Capture(steps));
  for (int round = 0; round < 20; ++round) {
    const HostArray nans = HostArray::Nans(kFloat, kElements);
    for (const Buffer* buffer : {b1.get(), b2.get(), b3.get(), b4.get()}) {
      ASSERT_OK(gpu().Upload(buffer->address(), nans.data(), nans.bytes()));
    }
    ASSERT_OK(replay->Run());
    const HostArray y = Content(*b4);
    for (int64_t i = 0; i < kElements; ++i) ASSERT_EQ(y.Get(i), 8 * x.Get(i));
  }
}

TEST_F(GpuBasicsTest, LanesRunSideBySide) {
  const auto in = Upload(gpu(), HostArray::Random(kFloat, kElements, 1));
  const auto out = Empty();
  const auto other = Empty();
  const auto slow = Make("[&] { for (int k = 0; k < 200; ++k) __nanosleep(1000); return a; }()");
  const auto us = [&](int lane) {
    const auto replay =
        gpu().Capture(std::vector<Step>{StepOf(*slow, {in->address(), out->address()}),
                                        StepOf(*slow, {in->address(), other->address()}, lane)});
    EXPECT_OK(replay);
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 10; ++i) best = std::min(best, (*replay)->Run()->us);
    return best;
  };
  const double one_lane = us(0);
  const double two_lanes = us(1);
  std::printf("two kernels on one lane %.1f us, on two %.1f us\n", one_lane, two_lanes);
  EXPECT_LT(two_lanes, 0.75 * one_lane);
}

TEST_F(GpuBasicsTest, RefusesStepsThatWaitForLaterOnesAndGoesOn) {
  const auto in = Upload(gpu(), HostArray::Random(kFloat, kElements, 1));
  const auto out = Empty();
  const auto twice = Make("2.0f * a");
  const std::vector<DeviceAddress> buffers = {in->address(), out->address()};
  EXPECT_THAT(gpu().Capture(std::vector<Step>{StepOf(*twice, buffers),
                                              StepOf(*twice, buffers, /*lane=*/1, {1})}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(gpu().Capture(std::vector<Step>{StepOf(*twice, {in->address()})}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_OK(Run(*twice, buffers));
}

TEST_F(GpuBasicsTest, CallsTheHostInTheMiddle) {
  const HostArray x = HostArray::Random(kFloat, kElements, 1);
  const auto b0 = Upload(gpu(), x);
  const auto b1 = Empty();
  const auto b2 = Empty();
  const auto b3 = Empty();
  const auto twice = Make("2.0f * a");
  HostCall call;
  call.input_bytes = {x.bytes()};
  call.output_bytes = {x.bytes()};
  call.run = [](std::span<const void* const> inputs, std::span<void* const> outputs) {
    for (int64_t i = 0; i < kElements; ++i) {
      static_cast<float*>(outputs[0])[i] = static_cast<const float*>(inputs[0])[i] + 1;
    }
  };
  ASSERT_OK_AND_ASSIGN(const auto host, gpu().Prepare(std::move(call)));
  ASSERT_OK(Run({StepOf(*twice, {b0->address(), b1->address()}),
                 StepOf(*host, {b1->address(), b2->address()}),
                 StepOf(*twice, {b2->address(), b3->address()})}));
  const HostArray y = Content(*b3);
  for (int64_t i = 0; i < kElements; ++i) {
    const float once = static_cast<float>(2 * x.Get(i)) + 1;
    ASSERT_EQ(y.Get(i), 2 * once);
  }
}

TEST_F(GpuBasicsTest, PreparesWhileAnotherThreadReplays) {
  const auto in = Upload(gpu(), HostArray::Random(kFloat, kElements, 1));
  const auto out = Empty();
  const auto twice = Make("2.0f * a");
  std::jthread other([](const std::stop_token& stop) {
    const std::vector<DnnCase> cases = DnnCases(model::DType::kFloat16, MathPolicy::kTf32);
    for (size_t i = 0; !stop.stop_requested(); ++i) {
      EXPECT_OK(gpu().Prepare(Elementwise("a + " + std::to_string(i) + ".0f", false)));
      EXPECT_OK(gpu().Allocate(1 << 20));
      // Handles of cuDNN are made, and kernels that it compiles loaded.
      const DnnGraph& graph = cases[i % cases.size()].graph;
      const auto plans = gpu().Plans(graph);
      EXPECT_OK(plans);
      if (plans.ok() && !plans->empty()) {
        EXPECT_OK(gpu().Prepare(graph, plans->front().name));
      }
    }
  });
  for (int i = 0; i < 200; ++i) ASSERT_OK(Run(*twice, {in->address(), out->address()}));
}

TEST_F(GpuBasicsTest, ClockIsPlausible) {
  SourceKernel kernel;
  kernel.name = "nothing";
  kernel.source = "extern \"C\" __global__ void nothing() {}";
  ASSERT_OK_AND_ASSIGN(const auto nothing, gpu().Prepare(kernel));
  const auto best_us = [&](size_t kernels) {
    const auto replay = gpu().Capture(std::vector<Step>(kernels, StepOf(*nothing, {})));
    EXPECT_OK(replay);
    Reading best{.us = std::numeric_limits<double>::infinity()};
    for (int i = 0; i < 50; ++i) {
      const Reading reading = *(*replay)->Run();
      if (reading.us < best.us) best = reading;
    }
    return best;
  };
  const Reading one = best_us(1);
  const Reading many = best_us(1001);
  const double gap_us = (many.us - one.us) / 1000;
  std::printf("an empty kernel %.2f us; 1000 more of them %.3f us each; clock %d MHz\n", one.us,
              gap_us, gpu().ClockMhz());
  EXPECT_GT(gap_us, 0.1);
  EXPECT_LT(gap_us, 20);
}

using GpuHealthDeathTest = GpuBasicsTest;

// In a process of its own: nobody can use the GPU in it any more.
TEST_F(GpuHealthDeathTest, AKernelThatFailsLosesTheDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto lose = [this] {
    const auto in = Upload(gpu(), HostArray::Random(kFloat, kElements, 1));
    const auto twice = Make("2.0f * a");
    const auto lost = [](const absl::Status& status) {
      return GetReason(status) == Reason::kDeviceLost;
    };
    const bool was_well = gpu().health().ok();
    const absl::Status ran = Run(*twice, {in->address(), 16});
    std::fprintf(stderr, "%s\n", ran.ToString().c_str());
    _exit(was_well && lost(ran) && lost(gpu().health()) && !gpu().Allocate(1).ok() ? 0 : 1);
  };
  EXPECT_EXIT(lose(), ::testing::ExitedWithCode(0), "illegal");
}

}  // namespace

}  // namespace quotient::kernels::cuda
