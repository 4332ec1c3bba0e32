// What timed replays find in the caches, on the emulated GPU: which constants are read when.

#include "core/kernels/cuda/timed_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

  explicit NotingGpu(int64_t l2_bytes = kL2Bytes) : facts_(ForwardingGpu::facts()) {
    facts_.l2_bytes = l2_bytes;
  }
  const GpuFacts& facts() const override { return facts_; }

  // Memory that is never touched.
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t bytes) override {
    const DeviceAddress address = next_address_;
    next_address_ += static_cast<DeviceAddress>((bytes + 255) / 256 * 256);
    return std::make_unique<Place>(address);
  }
  absl::Status Upload(DeviceAddress, const void*, int64_t) override { return absl::OkStatus(); }

  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) override {
    Launches launches;
    for (const Step& step : steps) launches.push_back(step.buffers);
    return std::make_unique<NotingReplay>(std::move(launches), &replays);
  }

  std::vector<Launches> replays;  // in the order in which they ran

 private:
  class Place : public Buffer {
   public:
    explicit Place(DeviceAddress address) : address_(address) {}
    DeviceAddress address() const override { return address_; }

   private:
    const DeviceAddress address_;
  };

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

  GpuFacts facts_;
  DeviceAddress next_address_ = 256;
};

// A product of which each launch reads constants of 512 * `columns` bytes, and 512 * `rows` bytes
// of other operands.
KernelSpec ProductWithWeights(int footprint_log2, int64_t columns = 128, int64_t rows = 1) {
  const auto of = [](int64_t height, int64_t width) {
    return model::StaticType(model::DType::kFloat32, std::vector<int64_t>{height, width});
  };
  return MakeSpec("MatMul", {}, {Operand{of(rows, 128)}, Operand{of(128, columns), true}},
                  {of(rows, columns)}, 1, footprint_log2, Storage::kNative);
}

std::unique_ptr<CompiledKernel> NewTimedKernel(const KernelSpec& spec, Gpu* gpu, RandomPool* pool,
                                               GpuClock* clock) {
  auto ways = WaysToRun(spec, MathPolicy::kStrict32, *gpu, 1);
  EXPECT_OK(ways);
  auto prepared = PreparedKernel::Create(ways->list.front(), *gpu);
  EXPECT_OK(prepared);
  auto kernels = NewTimedKernels(spec, {*prepared}, {gpu, pool, clock, nullptr});
  EXPECT_OK(kernels);
  return std::move(kernels->front());
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
    return NewTimedKernel(ProductWithWeights(footprint_log2), &gpu_, &pool_, &clock_);
  }

  // The distance over all launches up to now, of which the last `timed` replays are timed.
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

// --- with the L2 of an H200

constexpr int64_t kLargeL2Bytes = 60 << 20;

// Counts the timed launches that find what they read in an L2 of that size. `bytes` has what a
// launch reads of buffers 0 and 1; the last `timed` replays are timed.
int CountWarm(const std::vector<NotingGpu::Launches>& replays, size_t timed,
              const std::vector<int64_t>& bytes) {
  constexpr int64_t kLine = 1 << 16;
  std::map<DeviceAddress, int64_t> read_at;  // by line: bytes that had been read before
  int64_t read = 0;
  int warm = 0;
  for (size_t replay = 0; replay < replays.size(); ++replay) {
    for (const std::vector<DeviceAddress>& buffers : replays[replay]) {
      bool is_warm = false;
      for (size_t i = 0; i < bytes.size(); ++i) {
        for (int64_t offset = 0; offset < bytes[i]; offset += kLine) {
          const DeviceAddress line = (buffers[i] + static_cast<DeviceAddress>(offset)) / kLine;
          const auto before = read_at.find(line);
          is_warm = is_warm || (before != read_at.end() && read - before->second < kLargeL2Bytes);
          read_at[line] = read;
          read += std::min(kLine, bytes[i] - offset);
        }
      }
      if (is_warm && replay + timed >= replays.size()) ++warm;
    }
  }
  return warm;
}

struct ColdCase {
  int64_t columns;
  int64_t rows;
  int footprint_log2;
};

class ColdTest : public ::testing::TestWithParam<ColdCase> {};

TEST_P(ColdTest, NothingThatIsTimedIsInTheL2) {
  const ColdCase& c = GetParam();
  const std::vector<int64_t> bytes = {
      512 * c.rows > kLargeL2Bytes / 2 ? 512 * c.rows : 0,  // smaller ones are warm in graphs, too
      512 * c.columns};
  for (const int times : {5, 20, 61, 64, 300}) {
    SCOPED_TRACE(times);
    NotingGpu gpu(kLargeL2Bytes);
    RandomPool pool(&gpu);
    GpuClock clock(&gpu);
    const auto kernel = NewTimedKernel(ProductWithWeights(c.footprint_log2, c.columns, c.rows),
                                       &gpu, &pool, &clock);
    gpu.replays.clear();
    ASSERT_OK(kernel->Run(times));
    const size_t untimed_and_timed = gpu.replays.size();
    for (int i = 0; i < 5; ++i) ASSERT_OK(kernel->Run(times));
    const size_t once = (gpu.replays.size() - untimed_and_timed) / 5;
    EXPECT_EQ(CountWarm(gpu.replays, 6 * once, bytes), 0);
  }
}

// Weights of 4 to 60 MB. Those of 34 MB have 31 positions, which 63 launches go round twice with
// one left; the six positions of activations of 40 MB, which are in the same pool, do not
// divide 64.
INSTANTIATE_TEST_SUITE_P(Weights, ColdTest,
                         ::testing::Values(ColdCase{8192, 1, 28}, ColdCase{24576, 1, 28},
                                           ColdCase{24576, 1, 29}, ColdCase{122880, 1, 27},
                                           ColdCase{66560, 1, 30}, ColdCase{24576, 81920, 28},
                                           ColdCase{8192, 81920, 30}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.columns, "_", info.param.rows, "_",
                                               info.param.footprint_log2);
                         });

// Weights of 16 kB stay in the L2, because the most launches that are captured, 1024, read 16 MB.
// But no replay reads what the one before it read.
TEST_F(TimedKernelTest, NoReplayReadsWhatTheLastOneRead) {
  for (const int64_t columns : {32, 128, 1024}) {
    for (const int times : {1, 3, 64}) {
      SCOPED_TRACE(absl::StrCat(columns, " columns, ", times, " times"));
      NotingGpu gpu(kLargeL2Bytes);
      RandomPool pool(&gpu);
      GpuClock clock(&gpu);
      const auto kernel = NewTimedKernel(ProductWithWeights(28, columns), &gpu, &pool, &clock);
      for (int i = 0; i < 40; ++i) ASSERT_OK(kernel->Run(times));
      for (size_t i = 1; i < gpu.replays.size(); ++i) {
        std::set<DeviceAddress> last;
        for (const auto& buffers : gpu.replays[i - 1]) last.insert(buffers[1]);
        for (const auto& buffers : gpu.replays[i]) ASSERT_EQ(last.count(buffers[1]), 0u) << i;
      }
    }
  }
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
