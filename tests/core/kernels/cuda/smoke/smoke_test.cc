// The steps of the first minutes on a GPU, on one that is emulated.

#include "tests/core/kernels/cuda/smoke/smoke.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/cuda/forwarding_gpu.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda::smoke {
namespace {

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
  const auto gpu = NewHostGpu(/*has_wrong_plan=*/true);
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
  const auto bare = NewBackend(std::make_unique<BareGpu>(), CudaOptions());
  const auto other = timing::NewMemoryStore();
  ASSERT_OK_AND_ASSIGN(const Rows on_host, NetworkRows(graph, *bare, 1e-5, 1, other.get()));
  EXPECT_THAT(on_host, Contains(kFailed));
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

TEST_F(SmokeTimingsTest, WaysAreCounted) {
  ASSERT_OK_AND_ASSIGN(const Rows rows, WayRows(path_, {kPatch}));
  EXPECT_THAT(rows, ElementsAre(kPassed));
  EXPECT_THAT(rows, Contains(Field(&Row::text, HasSubstr("1 chain, 1 cudnn"))));
}

TEST_F(SmokeTimingsTest, AContractionOnTheHostIsTold) {
  {
    const auto store = timing::OpenFileStore(path_);
    ASSERT_OK((*store)->Add("k1 Exp{}", kOwn, Time(9, "host")));
    ASSERT_OK((*store)->Add("k1 MatMul{}", kMinor, Time(9, "host")));
  }
  ASSERT_OK_AND_ASSIGN(const Rows rows, WayRows(path_, {kOwn, kPatch, kMinor}));
  EXPECT_THAT(rows, SizeIs(3));
  for (const Row& row : rows) {
    EXPECT_EQ(row.passed, !absl::StrContains(row.text, kMinor)) << row.text;
  }
}

TEST_F(SmokeTimingsTest, AFileOfSomethingElseIsRefused) {
  std::ofstream(path_) << "text of someone";
  EXPECT_FALSE(WayRows(path_, {kOwn}).ok());
}

}  // namespace
}  // namespace quotient::kernels::cuda::smoke
