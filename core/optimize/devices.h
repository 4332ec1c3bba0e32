#pragma once

// Devices: what a process optimizes for. One object per process, shared by all jobs, so that no
// kernel is measured twice and only one measurement runs at a time.

#include <future>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/blob_id.h"
#include "core/cost/cost_model.h"
#include "core/kernels/backend.h"
#include "core/optimize/device_identity.h"
#include "core/optimize/device_table.h"
#include "core/timing/lane.h"
#include "core/timing/service.h"
#include "core/timing/snapshot.h"
#include "core/timing/store.h"

namespace quotient::optimize {

// The parts of a device that measures.
struct MeasuringParts {
  std::unique_ptr<kernels::Backend> backend;
  std::unique_ptr<timing::TimingService> service;
  timing::Lane* lane = nullptr;  // Borrowed.
  cost::Roof roof;               // What is assumed of kernels before they are measured.
  verify::DeviceArithmetic arithmetic = verify::DeviceArithmetic::kHost;
};

// A device, used with a fixed number of threads. Thread-safe.
class Device {
 public:
  explicit Device(MeasuringParts parts);
  // A device that is only a model.
  explicit Device(std::unique_ptr<cost::CostModel> model);
  // A device that need not be present, known from a snapshot. `model` prices kernels by it.
  Device(std::unique_ptr<cost::CostModel> model, std::shared_ptr<const timing::Snapshot> snapshot);

  cost::CostModel& costs() { return *costs_; }
  // Null where nothing can be run: the device is only a model, or known from a snapshot.
  kernels::Backend* backend() { return measuring_.backend.get(); }
  // Whether whole models are run as files, with the nodes that Quotient does not understand.
  bool runs_files() const {
    return measuring_.backend != nullptr && measuring_.backend->runs_files();
  }
  // What runs its graphs.
  RunBy run_by() const {
    if (measuring_.backend == nullptr) return RunBy::kNothing;
    return runs_files() ? RunBy::kFiles : RunBy::kExecutables;
  }
  // The backend's health: DEVICE_LOST once the device has failed. OK where there is no backend.
  absl::Status health() const;
  // How many threads a kernel runs on.
  int threads() const { return costs_->partition().threads; }
  // Whether these are several threads of this machine's processors, with a core for each. Then
  // other work may take cores away from them, and one thread can be measured instead.
  bool has_core_per_thread() const;
  timing::TimingService* timings() { return measuring_.service.get(); }
  // Where kernels and graphs are run. Null where nothing can be run.
  timing::Lane* lane() { return measuring_.lane; }
  // How results may differ from those of the host.
  verify::DeviceArithmetic arithmetic() const { return measuring_.arithmetic; }
  // How kernels are to run here: by the plan that was measured to be the fastest.
  kernels::PlanChoice plans();
  // The snapshot that the device is known from; null for other devices.
  const timing::Snapshot* snapshot() const { return snapshot_.get(); }

 private:
  MeasuringParts measuring_;
  std::unique_ptr<cost::CostModel> costs_;
  std::shared_ptr<const timing::Snapshot> snapshot_;
};

// What the devices of a process use. The pointers are borrowed and must outlive the devices.
struct DeviceSetup {
  timing::TimingStore* store = nullptr;
  timing::Lane* lane = nullptr;  // One per process.
  std::string cache_directory;   // BackendSetup::cache_directory.
  os::Environment environment;   // BackendSetup::environment.
  // Whether what is timed goes before other processes where the system permits it
  // (os::TakePrecedence), so that they do not disturb it: the lane's thread, those that it starts,
  // and the process of ONNX Runtime.
  bool takes_precedence = false;
};

// Thread-safe.
class Devices {
 public:
  // `kinds` are the rows of the device table; tests give their own.
  explicit Devices(DeviceSetup setup, std::span<const DeviceKind> kinds = AllDeviceKinds());

  // Returns the device of a name that the table accepts ("cpu", "cuda:1", "model:h200"), or that of
  // a snapshot, which is named by its content ("snapshot:<sha256>/<size>") and has its own number
  // of threads. `snapshot` is then the bytes of it. They are read at the first call for this
  // snapshot, and again after calls for many others. Errors: DEVICE_NOT_PRESENT if this machine has
  // no device of the name; DEVICE_LOST if the device has failed; OPTION_INVALID if the bytes are
  // not those that the name refers to, or not a snapshot. Opening a device may take long, but only
  // callers that ask for the same device wait for it. After a failure to open, the next call tries
  // again.
  absl::StatusOr<std::shared_ptr<Device>> Get(const std::string& name, int threads,
                                              absl::string_view snapshot = {});

  // Returns the name of the device that `name` stands for on this machine: "onnxruntime" or "cpu"
  // for "auto", and every other name as it is. Opens the devices that come into question, with the
  // errors of Get if that fails for another reason than that a device is not present. Where the
  // first choice is not present, the log says why.
  absl::StatusOr<std::string> Resolve(const std::string& name, int threads);

  // Returns what the device of a name is on this machine, for keys of results. Opens the device,
  // with the errors of Get, except that a device that was lost can still be identified.
  absl::StatusOr<DeviceIdentity> Identify(const std::string& name, int threads);

  // Backend::failures and Backend::EndHungCalls of the device of a name, with any number of
  // threads. They wait for no device that is being opened.
  int64_t FailuresOf(const std::string& name) const ABSL_LOCKS_EXCLUDED(mutex_);
  void EndHungCalls(const std::string& name, double seconds) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes a snapshot of what is known of the kernels of a device of this machine, which may be
  // nothing. `unix_s` is the time of recording. Errors: DEVICE_NOT_PRESENT, and OPTION_INVALID for
  // a device that is not measured.
  absl::StatusOr<timing::Snapshot> Record(const std::string& requested, int threads,
                                          int64_t unix_s);

 private:
  using Opened = absl::StatusOr<std::shared_ptr<Device>>;

  // The devices of a name that are open and have a backend.
  std::vector<std::shared_ptr<Device>> OpenOnes(const std::string& name) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  Opened GetOrOpen(const std::string& name, int threads) ABSL_LOCKS_EXCLUDED(mutex_);
  void Open(const std::string& key, const std::string& name, int threads,
            std::promise<Opened> promise) ABSL_LOCKS_EXCLUDED(mutex_);
  Opened Make(const std::string& name, int threads) const;
  absl::StatusOr<std::shared_ptr<Device>> MakeRecorded(const BlobId& id,
                                                       absl::string_view bytes) const;
  absl::StatusOr<std::shared_ptr<Device>> GetRecorded(const std::string& name,
                                                      absl::string_view bytes);

  // A device that is known from a snapshot.
  struct Recorded {
    std::string name;
    std::shared_ptr<Device> device;
  };

  const DeviceSetup setup_;
  const std::span<const DeviceKind> kinds_;
  mutable absl::Mutex mutex_;
  // Devices that are open or being opened, by name and number of threads.
  absl::flat_hash_map<std::string, std::shared_future<Opened>> devices_ ABSL_GUARDED_BY(mutex_);
  // The snapshots used last, the latest first. Their number is bounded, because clients of a server
  // may name any number of snapshots.
  std::vector<Recorded> recorded_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::optimize
