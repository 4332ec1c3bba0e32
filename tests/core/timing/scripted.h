#pragma once

// Kernels and probes that behave as a test prescribes.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/kernels/backend.h"
#include "core/os/probe.h"
#include "tests/support/fake_backend.h"

namespace quotient::timing {

// A probe that reads a fake clock. Scripts call Interrupt and Wait to simulate disturbances.
class ScriptedProbe : public os::Probe {
 public:
  explicit ScriptedProbe(const kernels::fake::FakeClock* clock) : clock_(clock) {}

  int64_t NowNs() override { return clock_->NowNs(); }
  int64_t InvoluntarySwitches() override { return switches_; }
  int64_t WaitedNs() override { return waited_ns_; }
  bool IsAnyWaiting() override { return false; }
  std::optional<int64_t> CpuNs() override {
    if (!has_cpu_time_) return std::nullopt;
    return clock_->NowNs() - stolen_ns_;
  }
  // Simulates that another process uses the core for `us` microseconds, by which the clock
  // advances.
  void Interrupt(kernels::fake::FakeClock* clock, double us) {
    ++switches_;
    clock->Advance(us);
    stolen_ns_ += static_cast<int64_t>(us * 1e3);
    if (!has_cpu_time_) waited_ns_ += static_cast<int64_t>(us * 1e3);
  }
  // The same for a millisecond that the clock does not show, so that the script alone says how long
  // the sample is.
  void Interrupt() {
    ++switches_;
    waited_ns_ += 1'000'000;
  }
  // Simulates that a thread waits for a core, which does not count as a switch. The clock advances.
  void Wait(kernels::fake::FakeClock* clock, double us) {
    clock->Advance(us);
    waited_ns_ += static_cast<int64_t>(us * 1e3);
  }
  void HaveCpuTime() { has_cpu_time_ = true; }

 private:
  const kernels::fake::FakeClock* clock_;
  int64_t switches_ = 0;
  int64_t waited_ns_ = 0;
  int64_t stolen_ns_ = 0;
  bool has_cpu_time_ = false;
};

// A kernel whose runs take script(run) microseconds. A negative number makes the run fail.
class ScriptedKernel : public kernels::CompiledKernel {
 public:
  ScriptedKernel(kernels::fake::FakeClock* clock, std::function<double(int run)> script)
      : clock_(clock), script_(std::move(script)) {}

  absl::Status Run(int times) override {
    for (int i = 0; i < times; ++i) {
      const double us = script_(runs_++);
      if (us < 0) return absl::InternalError("scripted failure");
      clock_->Advance(us);
    }
    return absl::OkStatus();
  }
  // From now on, the kernel needs its operands to be refreshed, which calls `refresh`.
  void BeforeRuns(std::function<void()> refresh) { refresh_ = std::move(refresh); }
  bool Refresh() override {
    if (!refresh_) return false;
    refresh_();
    return true;
  }
  int runs() const { return runs_; }
  // From now on, runs report this reading of the device's own clock.
  void SetReading(kernels::DeviceReading reading) { reading_ = reading; }
  std::optional<kernels::DeviceReading> reading() const override { return reading_; }

 private:
  kernels::fake::FakeClock* clock_;
  std::function<double(int)> script_;
  std::function<void()> refresh_;
  int runs_ = 0;
  std::optional<kernels::DeviceReading> reading_;
};

// A scripted executable without inputs and outputs. Every run appends its name to the log.
class ScriptedExecutable : public kernels::Executable {
 public:
  ScriptedExecutable(char name, std::string* log, kernels::fake::FakeClock* clock,
                     std::function<double(int run)> script)
      : name_(name), log_(log), kernel_(clock, std::move(script)) {}

  absl::Status SetInputs(const std::vector<model::Tensor>&) override { return absl::OkStatus(); }
  absl::Status Run() override {
    log_->push_back(name_);
    return kernel_.Run(1);
  }
  absl::StatusOr<std::vector<model::Tensor>> GetOutputs() override {
    return std::vector<model::Tensor>{};
  }
  const std::vector<model::ValueId>& input_values() const override { return none_; }
  const std::vector<model::ValueId>& output_values() const override { return none_; }
  int num_kernels() const override { return 1; }

 private:
  const char name_;
  std::string* log_;
  ScriptedKernel kernel_;
  const std::vector<model::ValueId> none_;
};

}  // namespace quotient::timing
