// The steps of the first minutes on a GPU, on one that is emulated.

#include "tests/core/kernels/cuda/smoke/smoke.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/cuda/forwarding_gpu.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda::smoke {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const auto kPassed = Field(&Row::passed, true);
const auto kFailed = Field(&Row::passed, false);

TEST(SmokeTest, TellsWhatTheGpuIs) {
  const auto gpu = NewHostGpu();
  EXPECT_THAT(DeviceRows(*gpu), Contains(Field(&Row::text, HasSubstr("host, sm_90"))));
  EXPECT_THAT(DeviceRows(*gpu), Contains(Field(&Row::text, HasSubstr("now 1980 MHz"))));
}

class VersionedGpu : public ForwardingGpu {
 public:
  VersionedGpu() : facts_(ForwardingGpu::facts()) {
    facts_.cudnn_version = 91900;
    facts_.cudnn_cuda_version = 13010;
    facts_.runtime_version = 13000;
  }
  const GpuFacts& facts() const override { return facts_; }

 private:
  GpuFacts facts_;
};

TEST(SmokeTest, TellsBothVersionsOfCuda) {
  VersionedGpu gpu;
  EXPECT_THAT(
      DeviceRows(gpu),
      Contains(Field(&Row::text, HasSubstr("cuDNN 91900 for CUDA 13010, plug-in for CUDA 13000"))));
}

TEST(SmokeTest, MeasuresReplays) {
  const auto gpu = NewHostGpu();
  ASSERT_OK_AND_ASSIGN(const Rows rows, ReplayRows(*gpu));
  EXPECT_THAT(rows, SizeIs(4));
  EXPECT_THAT(rows, Each(kPassed));
  EXPECT_EQ(rows.back().text, "1.000 us");  // by the clock of the emulated GPU
}

// A GPU with a clock, and so with a highest rate.
class RatedGpu : public ForwardingGpu {
 public:
  explicit RatedGpu(int clock_khz) : facts_(ForwardingGpu::facts()) {
    facts_.max_clock_khz = clock_khz;
  }
  const GpuFacts& facts() const override { return facts_; }

 private:
  GpuFacts facts_;
};

TEST(SmokeTest, ARateThatCannotBeIsTold) {
  constexpr RateSizes kSmall = {.copy_bytes = 1 << 16, .product = 64};
  RatedGpu unknown(0);
  ASSERT_OK_AND_ASSIGN(const Rows rows, RateRows(unknown, kSmall));
  EXPECT_THAT(rows, ElementsAre(kPassed, kPassed));
  // The emulated GPU multiplies 64 x 64 x 64 in half a microsecond: 1.05 TFLOP/s. At this clock its
  // highest rate is 1.23.
  RatedGpu plausible(300'000);
  EXPECT_THAT(RateRows(plausible, kSmall)->back(), kPassed);
  for (const int khz : {300, 300'000'000}) {
    RatedGpu wrong(khz);
    EXPECT_THAT(RateRows(wrong, kSmall)->back(), kFailed) << khz;
  }
}

class SmokeKernelTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SmokeKernelTest, EveryWayIsRight) {
  const auto gpu = NewHostGpu();
  ASSERT_OK_AND_ASSIGN(const Rows rows, KernelRows(*gpu, GetParam(), 1, {}));
  EXPECT_THAT(rows, Not(IsEmpty()));
  EXPECT_THAT(rows, Each(kPassed));
}
INSTANTIATE_TEST_SUITE_P(Families, SmokeKernelTest, ::testing::ValuesIn(FamilyNames()),
                         [](const auto& info) { return info.param; });

TEST(SmokeTest, OwnKernelsRunAlone) {
  const auto gpu = NewHostGpu();
  ASSERT_OK_AND_ASSIGN(const Rows rows, OwnRows(*gpu, "softmax"));
  EXPECT_THAT(rows, Not(IsEmpty()));
  EXPECT_THAT(rows, Each(kPassed));
}

TEST(SmokeTest, AWrongKernelDoesNotPass) {
  const auto gpu = NewHostGpu(/*has_wrong_plans=*/true);
  ASSERT_OK_AND_ASSIGN(const Rows rows, KernelRows(*gpu, "product", 1, {}));
  EXPECT_THAT(rows, Each(kFailed));
  EXPECT_THAT(rows, Each(Field(&Row::text, HasSubstr("worst by"))));
}

// Its libraries say that they have nothing.
class BareGpu : public ForwardingGpu {
 public:
  absl::StatusOr<std::vector<LibraryPlan>> Plans(const MatmulProblem&) override {
    return std::vector<LibraryPlan>();
  }
  absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph&) override {
    return std::vector<LibraryPlan>();
  }
};

// Its cuDNN cannot say what it has.
class TroubledGpu : public ForwardingGpu {
 public:
  absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph&) override {
    return absl::InternalError("CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED");
  }
};

TEST(SmokeTest, AContractionOnTheHostDoesNotPass) {
  BareGpu gpu;
  ASSERT_OK_AND_ASSIGN(const Rows rows, KernelRows(gpu, "product", 1, {}));
  EXPECT_THAT(rows, Each(kFailed));
  EXPECT_THAT(rows, Each(Field(&Row::text, HasSubstr("on the host"))));
}

TEST(SmokeTest, ALibraryInTroubleDoesNotPass) {
  TroubledGpu gpu;
  std::vector<std::string> found;
  const Watcher watcher = {.found = [&](const Row& row) { found.push_back(row.name); }};
  ASSERT_OK_AND_ASSIGN(const Rows rows, KernelRows(gpu, "conv_relu", 1, watcher));
  EXPECT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows, Each(kFailed));
  EXPECT_THAT(rows, Each(Field(&Row::text, HasSubstr("SUBLIBRARY_LOADING_FAILED"))));
  EXPECT_THAT(found, ElementsAre("Conv tf32", "Conv strict32", "Conv float16"));
}

// Its GPU is lost by the first replay.
class LostGpu : public ForwardingGpu {
 public:
  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step>) override {
    return MakeError(Reason::kDeviceLost, "an illegal address");
  }
};

TEST(SmokeTest, AWayThatLosesTheGpuIsNamed) {
  LostGpu gpu;
  std::vector<std::string> tried;
  const Watcher watcher = {.trying = [&](const std::string& way) { tried.push_back(way); }};
  const absl::Status status = KernelRows(gpu, "softmax", 1, watcher).status();
  EXPECT_EQ(GetReason(status), Reason::kDeviceLost);
  ASSERT_THAT(tried, SizeIs(1));
  EXPECT_THAT(tried, Each(HasSubstr("Softmax strict32 by ")));
  EXPECT_THAT(status.message(), HasSubstr(tried.front().substr(tried.front().rfind(' ') + 1)));
}

TEST(SmokeTest, RunsAGraph) {
  const model::Graph graph = GraphOf({"two_kernels", R"(
input x: float32[4,8]
const w: float32[8,8] = random(1)
m = MatMul(x, w)
y = Softmax(m) {axis=1}
output y
)"});
  const auto backend = NewBackend(NewHostGpu(), {.policy = MathPolicy::kStrict32});
  const auto store = timing::NewMemoryStore();
  ASSERT_OK_AND_ASSIGN(const Rows rows, NetworkRows(graph, *backend, 1e-5, 1, store.get()));
  EXPECT_THAT(rows, Each(kPassed));
  EXPECT_THAT(rows.back().text, AllOf(HasSubstr("1 "), HasSubstr(", 1 "), Not(HasSubstr("host"))));
  const auto bare = NewBackend(std::make_unique<BareGpu>(), CudaOptions());
  const auto other = timing::NewMemoryStore();
  ASSERT_OK_AND_ASSIGN(const Rows on_host, NetworkRows(graph, *bare, 1e-5, 1, other.get()));
  EXPECT_THAT(on_host, Contains(kFailed));
  EXPECT_THAT(on_host.back().text, HasSubstr("1 host, 1 "));
  EXPECT_THAT(on_host.back().text, HasSubstr("; on the host: MatMul"));
}

// Wakes up only after some milliseconds, and is slow until then.
class SleepyGpu : public ForwardingGpu {
 public:
  explicit SleepyGpu(bool is_awake) : is_awake_(is_awake), facts_(ForwardingGpu::facts()) {
    facts_.max_clock_khz = 1'980'000;
  }
  const GpuFacts& facts() const override { return facts_; }
  int ClockMhz() override {
    if (first_asked_ == absl::InfiniteFuture()) first_asked_ = absl::Now();
    if (absl::Now() - first_asked_ > absl::Milliseconds(60)) is_awake_ = true;
    return is_awake_ ? 1980 : 345;
  }
  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) override {
    QUOTIENT_ASSIGN_OR_RETURN(auto replay, ForwardingGpu::Capture(steps));
    return std::make_unique<SleepyReplay>(std::move(replay), &is_awake_);
  }

 private:
  class SleepyReplay : public Replay {
   public:
    SleepyReplay(std::unique_ptr<Replay> replay, const bool* is_awake)
        : replay_(std::move(replay)), is_awake_(*is_awake) {}
    absl::StatusOr<Reading> Run() override {
      QUOTIENT_ASSIGN_OR_RETURN(Reading reading, replay_->Run());
      if (!is_awake_) reading.us *= 6;
      return reading;
    }

   private:
    const std::unique_ptr<Replay> replay_;
    const bool& is_awake_;
  };

  bool is_awake_;
  absl::Time first_asked_ = absl::InfiniteFuture();
  GpuFacts facts_;
};

TEST(SmokeTest, ANetworkWaitsUntilTheGpuIsAwake) {
  const model::Graph graph = GraphOf({"one_kernel", R"(
input x: float32[2,4]
y = Softmax(x) {axis=1}
output y
)"});
  const auto store = timing::NewMemoryStore();
  std::vector<std::string> texts;
  for (const bool is_awake : {true, false}) {  // the second time nothing but the network runs
    const auto backend = NewBackend(std::make_unique<SleepyGpu>(is_awake), CudaOptions());
    ASSERT_OK_AND_ASSIGN(const Rows rows, NetworkRows(graph, *backend, 1e-2, 1, store.get()));
    EXPECT_THAT(rows, Each(kPassed));
    for (const Row& row : rows) {
      if (row.name == "predicted") texts.push_back(row.text);
    }
  }
  ASSERT_THAT(texts, SizeIs(2));
  EXPECT_EQ(texts[0], texts[1]);
}

// --- files of timings

constexpr char kOwn[] = "cuda; H200; driver 580.159.04 for 13000; protocol 2";
constexpr char kPatch[] = "cuda; H200; driver 580.159.03 for 13000; protocol 2";
constexpr char kMinor[] = "cuda; H200; driver 580.160.03 for 13000; protocol 2";

class SmokeTimingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::remove(path_.c_str());
    const auto store = timing::OpenFileStore(path_);
    ASSERT_OK(store);
    ASSERT_OK((*store)->Add("k1 Relu{}", kPatch, Time(1, "chain")));
    ASSERT_OK((*store)->Add("k1 Conv+Relu{}", kPatch, Time(2, "cudnn:engine=3")));
    ASSERT_OK((*store)->Add("k1 Exp{}", kMinor, Time(3, "chain")));
  }
  ~SmokeTimingsTest() override { std::remove(path_.c_str()); }

  static timing::Timing Time(double us, const std::string& plan) {
    return {.state = timing::TimingState::kOk, .min_us = us, .samples = 5, .plan = plan};
  }

  const std::string path_ =
      absl::StrCat(::testing::TempDir(), "/quotient_smoke_timings_", getpid());
};

TEST_F(SmokeTimingsTest, APatchLevelApartIsTold) {
  ASSERT_OK_AND_ASSIGN(const Rows rows, TimingRows(path_, {kOwn}));
  EXPECT_THAT(rows, ElementsAre(Field(&Row::name, HasSubstr("another patch level of the driver")),
                                Field(&Row::name, "another device")));
  EXPECT_THAT(rows.front().text, HasSubstr("2 kernels of cuda; H200; driver 580.159.03"));
}

TEST_F(SmokeTimingsTest, APatchLevelApartIsMergedWhenAskedFor) {
  EXPECT_EQ(*MergeDrivers(path_, {kOwn}), 2);
  const auto store = timing::OpenFileStore(path_);
  ASSERT_OK(store);
  EXPECT_EQ((*store)->All(kOwn).size(), 2u);
  EXPECT_EQ((*store)->Find("k1 Relu{}", kOwn)->min_us, 1);
  EXPECT_EQ((*store)->Find("k1 Exp{}", kOwn), std::nullopt);
}

TEST_F(SmokeTimingsTest, AFileOfSomethingElseIsRefused) {
  std::ofstream(path_) << "text of someone";
  EXPECT_FALSE(TimingRows(path_, {kOwn}).ok());
}

}  // namespace
}  // namespace quotient::kernels::cuda::smoke
