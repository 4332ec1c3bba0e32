#include "core/optimize/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/core/optimize/optimize_fixture.h"
#include "tests/support/fake_backend.h"
#include "tests/support/fake_device_kind.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using ::quotient::testing::HasReason;
using ::testing::HasSubstr;

class ProfileModelTest : public ::testing::Test {
 protected:
  ProfileModelTest() {
    options_.device = "cpu";
    options_.threads = 1;
    fake_.run_us = [](const kernels::KernelSpec& spec, int) {
      return kernels::fake::FakeCostUs(spec);
    };
  }

  absl::StatusOr<report::Profile> Profile() {
    const std::string model = Normalized();
    const ModelFiles files{.name = "small.onnx", .model = model};
    return ProfileModel(files, options_, environment_, StopCondition(&token_));
  }

  kernels::fake::FakeClock clock_;
  kernels::fake::FakeOptions fake_;
  const std::vector<DeviceKind> kinds_ = {testing::FakeDeviceKind(
      {"cpu"},
      [this](absl::string_view) { return kernels::fake::NewFakeBackend(&clock_, fake_); })};
  const std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  timing::Lane lane_;
  Devices devices_{{.store = store_.get(), .lane = &lane_}, kinds_};
  const Environment environment_{.devices = &devices_, .clock = Clock::System()};
  Options options_;
  CancelToken token_;
};

TEST_F(ProfileModelTest, HasEveryKernelOfTheModelAndTheSumsOfThem) {
  ASSERT_OK_AND_ASSIGN(const report::Profile profile, Profile());
  EXPECT_EQ(profile.model_name, "small.onnx");
  EXPECT_EQ(profile.device, "cpu");
  EXPECT_GT(profile.runs, 0);
  double predicted = 0, measured = 0;
  int convolutions = 0;
  for (const report::ProfiledKernel& kernel : profile.kernels) {
    predicted += kernel.predicted_us;
    measured += *kernel.measured_us;
    if (kernel.op.starts_with("Conv")) convolutions += kernel.times;
  }
  EXPECT_EQ(convolutions, 2);
  EXPECT_GT(predicted, 0);
  EXPECT_DOUBLE_EQ(profile.predicted_us, predicted);
  EXPECT_DOUBLE_EQ(*profile.kernels_us, measured);
}

TEST_F(ProfileModelTest, WhereNothingRunsThereIsNoProfile) {
  options_.device = "model:h200";
  Devices devices({.store = store_.get(), .lane = &lane_});
  const std::string model = Normalized();
  const ModelFiles files{.model = model};
  EXPECT_THAT(
      ProfileModel(files, options_, {.devices = &devices, .clock = Clock::System()}, {}).status(),
      HasReason(Reason::kOptionInvalid, HasSubstr("nothing can be run on 'model:h200'")));
}

TEST_F(ProfileModelTest, AModelThatCannotBeReadIsRefused) {
  const ModelFiles files{.model = "no model"};
  EXPECT_FALSE(ProfileModel(files, options_, environment_, {}).ok());
}

TEST_F(ProfileModelTest, AModelThatTheDeviceCannotRunIsRefused) {
  fake_.run_us = [](const kernels::KernelSpec& spec, int) -> absl::StatusOr<double> {
    return absl::UnimplementedError("no kernel for " + spec.op);
  };
  EXPECT_THAT(Profile().status(),
              HasReason(Reason::kModelUnsupported,
                        HasSubstr("the device cpu cannot run this model: no kernel for ")));
}

TEST_F(ProfileModelTest, ADeviceThatFailsSaysNothingOfTheModel) {
  fake_.run_us = [](const kernels::KernelSpec&, int) -> absl::StatusOr<double> {
    return absl::UnavailableError("it is gone");
  };
  EXPECT_EQ(Profile().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ProfileModelTest, CanBeCancelled) {
  token_.Cancel();
  EXPECT_THAT(Profile().status(), HasReason(Reason::kCancelled, HasSubstr("")));
}

}  // namespace
}  // namespace quotient::optimize
