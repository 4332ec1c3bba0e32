#pragma once

// A timing service whose kernels take the time that a test says, on a clock of the test.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "core/timing/service.h"
#include "tests/core/timing/scripted.h"

namespace quotient::timing {

inline kernels::KernelSpec Relu(int64_t elements) {
  const auto type = model::StaticType(model::DType::kFloat32, std::vector<int64_t>{elements});
  return kernels::MakeSpec("Relu", {}, {kernels::Operand{type}}, {type}, 1, 0);
}

inline bool IsReady(const std::shared_future<Timing>& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

class ServiceTest : public ::testing::Test {
 protected:
  // Kernels take 400 us and a tenth per element.
  ServiceTest() {
    backend_ = NewFakeBackend(
        &clock_, {.run_us = [this](const kernels::KernelSpec& spec, int) { return Cost(spec); }});
  }

  virtual absl::StatusOr<double> Cost(const kernels::KernelSpec& spec) {
    return 400 + 0.1 * static_cast<double>(spec.outputs[0].type.elements());
  }

  std::unique_ptr<TimingService> Service(ServiceOptions options = {}) {
    options.make_probe = [this] { return std::make_unique<ScriptedProbe>(&clock_); };
    return NewTimingService(backend_.get(), store_.get(), &lane_, options);
  }

  kernels::fake::FakeClock clock_;
  Lane lane_;
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<TimingStore> store_ = NewMemoryStore();
};

}  // namespace quotient::timing
