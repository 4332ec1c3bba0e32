// What timed replays find in the caches, on the emulated GPU: which constants are read when.

#include "core/kernels/cuda/timed_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/kernels/cuda/prepared_kernel.h"
#include "tests/support/cuda/forwarding_gpu.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

constexpr int64_t kL2Bytes = 1 << 20;

// Notes the buffers of every launch of every replay, in order, and computes nothing.
class NotingGpu : public ForwardingGpu {
 public:
  using Launches = std::vector<std::vector<DeviceAddress>>;

  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) override {
    Launches launches;
    for (const Step& step : steps) launches.push_back(step.buffers);
    return std::make_unique<NotingReplay>(std::move(launches), &replays);
  }

  std::vector<Launches> replays;  // in the order in which they ran

 private:
  class NotingReplay : public Replay {
   public:
    NotingReplay(Launches launches, std::vector<Launches>* replays)
        : launches_(std::move(launches)), replays_(*replays) {}
    absl::StatusOr<Reading> Run() override {
      replays_.push_back(launches_);
      return Reading{.us = static_cast<double>(launches_.size())};
    }

   private:
    const Launches launches_;
    std::vector<Launches>& replays_;
  };
};

// A product of which each launch reads constants of 64 kB.
KernelSpec ProductWithWeights(int footprint_log2) {
  const auto of = [](int64_t rows, int64_t columns) {
    return model::StaticType(model::DType::kFloat32, std::vector<int64_t>{rows, columns});
  };
  return MakeSpec("MatMul", {}, {Operand{of(1, 128)}, Operand{of(128, 128), true}}, {of(1, 128)}, 1,
                  footprint_log2, Storage::kNative);
}

// The fewest launches between two that read the same constants, of which the second is timed.
struct Distance {
  size_t launches = SIZE_MAX;
  size_t replays = SIZE_MAX;
};

class TimedKernelTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(gpu_.facts().l2_bytes, kL2Bytes); }

  std::unique_ptr<CompiledKernel> Make(int footprint_log2) {
    const KernelSpec spec = ProductWithWeights(footprint_log2);
    auto ways = WaysToRun(spec, MathPolicy::kStrict32, gpu_, 1);
    EXPECT_OK(ways);
    auto prepared = PreparedKernel::Create(ways->list.front(), gpu_);
    EXPECT_OK(prepared);
    auto kernels = NewTimedKernels(spec, {*prepared}, {&gpu_, &pool_, &clock_, nullptr});
    EXPECT_OK(kernels);
    return std::move(kernels->front());
  }

  // Of all that ran up to now, where the last `timed` replays are timed.
  Distance ReuseOf(size_t timed) const {
    Distance nearest;
    std::map<DeviceAddress, std::pair<size_t, size_t>> last;  // launch and replay, by constants
    size_t launch = 0;
    for (size_t replay = 0; replay < gpu_.replays.size(); ++replay) {
      for (const std::vector<DeviceAddress>& buffers : gpu_.replays[replay]) {
        const DeviceAddress weights = buffers[1];
        const auto before = last.find(weights);
        if (before != last.end() && replay + timed >= gpu_.replays.size()) {
          nearest.launches = std::min(nearest.launches, launch - before->second.first);
          nearest.replays = std::min(nearest.replays, replay - before->second.second);
        }
        last[weights] = {launch, replay};
        ++launch;
      }
    }
    return nearest;
  }

  NotingGpu gpu_;
  RandomPool pool_{&gpu_};
  GpuClock clock_{&gpu_};
};

// 4 MB of other constants have been read when the same ones come again: four times the L2.
TEST_F(TimedKernelTest, ConstantsOfALargeModelAreCold) {
  for (const int times : {1, 5, 16, 48, 64, 1000}) {
    SCOPED_TRACE(times);
    const auto kernel = Make(/*footprint_log2=*/26);
    gpu_.replays.clear();
    ASSERT_OK(kernel->Run(times));
    ASSERT_OK(kernel->Run(times));
    const size_t timed_once = (static_cast<size_t>(times) + 63) / 64;
    const Distance reuse = ReuseOf(2 * timed_once);
    // One launch a replay is what calibrates; there are 16 captures then.
    EXPECT_GE(reuse.launches, times == 1 ? 16u : 60u);
    // Where a replay does not read all of it, the next one reads other constants.
    if (times < 60) {
      EXPECT_GE(reuse.replays, 2u);
    }
  }
}

// The first timed replay of a kernel follows replays of all its captures, not its own.
TEST_F(TimedKernelTest, NothingIsTimedRightBehindItsFirstReplay) {
  const auto kernel = Make(/*footprint_log2=*/26);
  gpu_.replays.clear();
  ASSERT_OK(kernel->Run(16));
  ASSERT_GE(gpu_.replays.size(), 3u);
  EXPECT_NE(gpu_.replays.back(), gpu_.replays[gpu_.replays.size() - 2]);
  EXPECT_EQ(gpu_.replays.back(), gpu_.replays.front());
}

// What has 512 kB of constants in all has them in the L2, and no colder.
TEST_F(TimedKernelTest, ConstantsOfASmallModelComeRoundWithinIt) {
  const auto kernel = Make(/*footprint_log2=*/19);
  gpu_.replays.clear();
  ASSERT_OK(kernel->Run(64));
  EXPECT_EQ(ReuseOf(1).launches, 8u);
}

TEST_F(TimedKernelTest, ReadingsAreOfAsManyRunsAsWereAskedFor) {
  const auto kernel = Make(/*footprint_log2=*/26);
  for (const int times : {1, 7, 64, 100}) {
    ASSERT_OK(kernel->Run(times));
    EXPECT_NEAR(kernel->reading()->us, times, 1e-9) << times;
  }
}

}  // namespace
}  // namespace quotient::kernels::cuda
