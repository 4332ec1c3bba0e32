#include "server/ops/gpu_monitor.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/digest.h"
#include "core/os/program_folder.h"
#include "server/ops/collectors.h"
#include "tests/server/ops/fake_nvml.h"
#include "tests/server/support/fake_clock.h"
#include "tests/support/clock_set_back.h"

namespace quotient::ops {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Each test has a library of its own, with a state of its own.
class GpuMonitorTest : public ::testing::Test {
 protected:
  GpuMonitorTest() {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    library_ = absl::StrCat(os::ProgramFolder(), "fake_nvml_", name, ".so");
    std::filesystem::copy_file(os::FindBesideProgram("libserver_test_nvml.so", {""}), library_,
                               std::filesystem::copy_options::overwrite_existing);
    void* const opened = dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
    fake_ = reinterpret_cast<FakeNvml* (*)()>(dlsym(opened, "fake_nvml"))();
  }
  ~GpuMonitorTest() override { std::filesystem::remove(library_); }

  // Waits for the thread that reads them.
  static std::vector<GpuSample> Await(const GpuMonitor& monitor) {
    std::vector<GpuSample> samples;
    while (samples.empty()) samples = monitor.Latest();
    return samples;
  }
  static std::string Text(const GpuMonitor& monitor) {
    Await(monitor);
    return prometheus::TextSerializer().Serialize(NewGpuCollector(&monitor)->Collect());
  }
  static std::string Line(const std::string& name, const std::string& labels,
                          const std::string& value) {
    return absl::StrCat("\n", name, "{", labels, "} ", value, "\n");
  }

  testing::FakeClock clock_;
  std::string library_;
  FakeNvml* fake_;
};

TEST_F(GpuMonitorTest, WhatTheDriverTellsIsThere) {
  const GpuMonitor monitor(library_, &clock_);
  fake_->RaiseXid();
  Await(monitor);
  clock_.AdvanceMs(GpuMonitor::kLeastMs);
  fake_->RaiseXid();
  const std::string text = Text(monitor);
  const std::string first =
      "gpu=\"0\",gpu_uuid=\"" + Digest::Of("GPU-first").Hex().substr(0, 12) + "\"";
  const std::string second =
      "gpu=\"1\",gpu_uuid=\"" + Digest::Of("GPU-second").Hex().substr(0, 12) + "\"";
  for (const std::string& line :
       {Line("quotient_gpu_up", first, "1"), Line("quotient_gpu_up", second, "1"),
        Line("quotient_gpu_memory_total_bytes", first, "1000"),
        Line("quotient_gpu_memory_used_bytes", second, "300"),
        Line("quotient_gpu_utilization_ratio", first, "0.5"),
        Line("quotient_gpu_temperature_celsius", first, "41"),
        Line("quotient_gpu_sm_clock_hertz", first, "1980000000"),
        Line("quotient_gpu_throttled", "cause=\"thermal\"," + first, "1"),
        Line("quotient_gpu_throttled", "cause=\"power_cap\"," + first, "0"),
        Line("quotient_gpu_throttled_seconds_total", "cause=\"thermal\"," + first, "2.5"),
        Line("quotient_gpu_errors_total", first + ",kind=\"ecc_uncorrected\"", "3"),
        Line("quotient_gpu_errors_total", first + ",kind=\"xid\"", "2")}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("quotient_gpu_temperature_celsius{" + second)));
}

TEST_F(GpuMonitorTest, ValuesAreReadOnlyWhenTheyAreWantedAndNotTooOften) {
  const GpuMonitor monitor(library_, &clock_);
  Await(monitor);
  clock_.AdvanceMs(GpuMonitor::kLeastMs - 1);
  EXPECT_EQ(monitor.Latest().size(), 2u);
  EXPECT_EQ(fake_->reads(), 2) << "one of each GPU";
  clock_.AdvanceMs(1);
  EXPECT_EQ(Await(monitor).size(), 2u);
  EXPECT_EQ(fake_->reads(), 4);
}

TEST_F(GpuMonitorTest, AGpuThatIsLostIsDownAndTheOthersGoOn) {
  const GpuMonitor monitor(library_, &clock_);
  Await(monitor);
  fake_->LoseGpu();
  clock_.AdvanceMs(GpuMonitor::kLeastMs);
  const std::vector<GpuSample> gpus = Await(monitor);
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_TRUE(gpus[0].is_up);
  EXPECT_FALSE(gpus[1].is_up);
  EXPECT_FALSE(gpus[1].memory_used_bytes.has_value());
}

TEST_F(GpuMonitorTest, ADriverThatHangsHoldsNobodyUp) {
  EXPECT_TRUE(testing::IgnoresClockSetBack([this] {
    const GpuMonitor monitor(library_, &clock_);
    Await(monitor);
    fake_->Hang(true);
    clock_.AdvanceMs(GpuMonitor::kLeastMs);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(monitor.Latest().empty());
    fake_->Hang(false);
    EXPECT_EQ(Await(monitor).size(), 2u);
    fake_->Hang(true);
    clock_.AdvanceMs(GpuMonitor::kLeastMs);
    EXPECT_TRUE(monitor.Latest().empty());
  }));
  fake_->Hang(false);  // The monitor has gone, and its thread goes now.
}

TEST(NoGpuTest, WithoutALibraryThereIsNothing) {
  const GpuMonitor monitor("libno-such-library.so.1", &Clock::System());
  EXPECT_TRUE(monitor.Latest().empty());
  EXPECT_TRUE(NewGpuCollector(&monitor)->Collect().empty());
}

}  // namespace
}  // namespace quotient::ops
