#pragma once

// Devices: what a process optimizes for. One object per process, shared by all jobs, so that no
// kernel is measured twice and only one measurement runs at a time.

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/cost/cost_model.h"
#include "core/kernels/backend.h"
#include "core/timing/service.h"
#include "core/timing/store.h"

namespace quotient::optimize {

// A device at a number of threads. Thread-safe.
class Device {
 public:
  // A device that measures.
  Device(std::unique_ptr<kernels::Backend> backend, std::unique_ptr<timing::TimingService> service);
  // A device that is only a model.
  explicit Device(std::unique_ptr<cost::CostModel> model);

  cost::CostModel& costs() { return *costs_; }
  // Null where the device is only a model.
  kernels::Backend* backend() { return backend_.get(); }
  timing::TimingService* timings() { return service_.get(); }
  // How kernels are to run here: by the plan that was measured to be the fastest.
  kernels::PlanChoice plans();

 private:
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<timing::TimingService> service_;
  std::unique_ptr<cost::CostModel> costs_;
};

// Thread-safe.
class Devices {
 public:
  // `store` outlives the devices.
  explicit Devices(timing::TimingStore* store) : store_(store) {}

  // "cpu", or an analytic model ("model:h200"). The device stays for the life of this object.
  // DEVICE_NOT_PRESENT if there is none of the name.
  absl::StatusOr<Device*> Get(const std::string& name, int threads);

 private:
  absl::StatusOr<std::unique_ptr<Device>> Make(const std::string& name, int threads);

  timing::TimingStore* const store_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<Device>> devices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::optimize
