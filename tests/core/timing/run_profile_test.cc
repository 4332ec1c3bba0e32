#include "core/timing/run_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/timing/scripted.h"
#include "tests/support/status_matchers.h"

namespace quotient::timing {
namespace {

using kernels::fake::FakeClock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An executable whose kernel `kernel` takes script(kernel, run) microseconds in a run by steps; a
// plain run takes script(-1, run).
class SteppedExecutable : public ScriptedExecutable {
 public:
  using Script = std::function<double(int kernel, int run)>;

  SteppedExecutable(FakeClock* clock, int kernels, Script script)
      : ScriptedExecutable('p', &log_, clock, [script](int run) { return script(-1, run); }),
        clock_(clock),
        kernels_(kernels),
        script_(std::move(script)) {}

  absl::Status RunInSteps(absl::FunctionRef<void()> after) override {
    if (kernels_ == 0) return ScriptedExecutable::RunInSteps(after);
    log_.push_back('s');
    for (int kernel = 0; kernel < kernels_; ++kernel) {
      clock_->Advance(script_(kernel, run_));
      after();
    }
    ++run_;
    return absl::OkStatus();
  }
  int num_kernels() const override { return kernels_; }
  const std::string& log() const { return log_; }

 private:
  std::string log_;
  FakeClock* const clock_;
  const int kernels_;
  const Script script_;
  int run_ = 0;
};

// An executable of a device with a profiler. Kernel `a` takes 7, 2, 3, 4, ... microseconds run by
// run, since the first run warms up, and `b` always takes 1.
class RecordingExecutable : public SteppedExecutable {
 public:
  explicit RecordingExecutable(FakeClock* clock)
      : SteppedExecutable(clock, 0, [](int, int) { return 100.0; }) {}

  absl::Status RunRecorded() override {
    a_.push_back(a_.empty() ? 7.0 : static_cast<double>(a_.size()) + 1);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<kernels::RecordedKernel>> TakeRecords() override {
    return std::vector<kernels::RecordedKernel>{{"a", a_}, {"b", {1, 1, 1}}};
  }

 private:
  std::vector<double> a_;
};

class RunProfileTest : public ::testing::Test {
 protected:
  absl::StatusOr<RunProfile> Profile(kernels::Executable& executable) {
    return ProfileRuns(executable, options_, probe_, stop_);
  }

  FakeClock clock_;
  ScriptedProbe probe_{&clock_};
  RunProfileOptions options_{.budget_seconds = 1, .least_pairs = 3, .most_pairs = 4};
  CancelToken token_;
  StopCondition stop_{&token_};
};

TEST_F(RunProfileTest, TimesEachKernelAndTheWholeByTurns) {
  SteppedExecutable executable(&clock_, 3, [](int kernel, int) { return 100.0 * (kernel + 2); });
  ASSERT_OK_AND_ASSIGN(const RunProfile profile, Profile(executable));
  EXPECT_EQ(executable.log(), "pspspspsps");  // The first two warm up.
  EXPECT_DOUBLE_EQ(profile.run_us, 100);
  EXPECT_THAT(profile.kernel_us, ElementsAre(200, 300, 400));
  EXPECT_EQ(profile.runs, 4);
  EXPECT_FALSE(profile.contaminated);
}

TEST_F(RunProfileTest, ADisturbanceOfOneKernelLeavesTheOthersAlone) {
  SteppedExecutable executable(&clock_, 3, [this](int kernel, int run) {
    if (kernel == 1 && run == 2) probe_.Interrupt(&clock_, 5000);
    return 100.0;
  });
  ASSERT_OK_AND_ASSIGN(const RunProfile profile, Profile(executable));
  EXPECT_THAT(profile.kernel_us, ElementsAre(100, 100, 100));
}

TEST_F(RunProfileTest, TellsThatMostRunsWereDisturbed) {
  SteppedExecutable executable(&clock_, 1, [this](int kernel, int) {
    if (kernel < 0) probe_.Interrupt();
    return 100.0;
  });
  ASSERT_OK_AND_ASSIGN(const RunProfile profile, Profile(executable));
  EXPECT_TRUE(profile.contaminated);
  EXPECT_DOUBLE_EQ(profile.run_us, 100);
}

TEST_F(RunProfileTest, ADeviceThatDoesNotTellKernelsApartHasTheWhole) {
  SteppedExecutable executable(&clock_, 0, [](int, int) { return 100.0; });
  ASSERT_OK_AND_ASSIGN(const RunProfile profile, Profile(executable));
  EXPECT_DOUBLE_EQ(profile.run_us, 100);
  EXPECT_THAT(profile.kernel_us, IsEmpty());
}

TEST_F(RunProfileTest, ADeviceWithAProfilerTellsItsKernelsByTheirLabels) {
  RecordingExecutable executable(&clock_);
  ASSERT_OK_AND_ASSIGN(const RunProfile profile, Profile(executable));
  EXPECT_DOUBLE_EQ(profile.run_us, 100);
  EXPECT_THAT(profile.kernel_us, IsEmpty());
  ASSERT_EQ(profile.recorded.size(), 2u);
  EXPECT_EQ(profile.recorded[0].label, "a");
  EXPECT_DOUBLE_EQ(profile.recorded[0].us, 3) << "the lower quartile of 7, 2, 3, 4, 5";
  EXPECT_DOUBLE_EQ(profile.recorded[1].us, 1);
}

TEST_F(RunProfileTest, EndsWhenTheBudgetIsSpentButNotBeforeTheLeastNumberOfRuns) {
  SteppedExecutable executable(&clock_, 1, [](int, int) { return 600'000.0; });
  ASSERT_OK_AND_ASSIGN(const RunProfile profile, Profile(executable));
  EXPECT_EQ(profile.runs, 3);
}

TEST_F(RunProfileTest, CanBeCancelled) {
  SteppedExecutable executable(&clock_, 1, [this](int kernel, int run) {
    if (kernel == 0 && run == 1) token_.Cancel();
    return 100.0;
  });
  EXPECT_THAT(Profile(executable).status(),
              testing::HasReason(Reason::kCancelled, HasSubstr("measuring")));
}

TEST_F(RunProfileTest, AFailureOfTheExecutableIsReturned) {
  SteppedExecutable executable(&clock_, 1, [](int kernel, int run) {
    return kernel < 0 && run == 2 ? -1.0 : 100.0;  // A negative time fails.
  });
  EXPECT_THAT(Profile(executable).status(), testing::StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace quotient::timing
