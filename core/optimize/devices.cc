#include "core/optimize/devices.h"

#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/blob_id.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "core/optimize/optimize.h"
#include "core/optimize/options.h"

namespace quotient::optimize {
namespace {

constexpr size_t kMostRecorded = 8;

// Of this host.
absl::StatusOr<std::unique_ptr<kernels::Backend>> OpenHere(const std::string& name, int threads,
                                                           const std::string& cache_directory) {
  if (name == "cpu") return kernels::onednn::NewBackend(threads);
  const std::optional<kernels::cuda::CudaDevice> gpu = kernels::cuda::ParseCudaDevice(name);
  if (!gpu.has_value()) return nullptr;
  return kernels::cuda::NewBackend(gpu->ordinal,
                                   {.policy = gpu->policy, .cache_directory = cache_directory});
}

absl::StatusOr<std::shared_ptr<Device>> MakeRecorded(const BlobId& id, absl::string_view bytes) {
  if (BlobId::Of(bytes) != id) {
    return MakeError(Reason::kOptionInvalid,
                     bytes.empty() ? "is not known here: --device-snapshot FILE gives its content"
                                   : "the bytes are others");
  }
  QUOTIENT_ASSIGN_OR_RETURN(timing::Snapshot parsed, timing::ParseSnapshot(bytes));
  const auto snapshot = std::make_shared<const timing::Snapshot>(std::move(parsed));
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<cost::CostModel> model,
                            cost::NewRecordedCostModel(snapshot));
  return std::make_shared<Device>(std::move(model), snapshot);
}

}  // namespace

Device::Device(std::unique_ptr<kernels::Backend> backend,
               std::unique_ptr<timing::TimingService> service, const cost::Roof& roof)
    : backend_(std::move(backend)),
      service_(std::move(service)),
      costs_(cost::NewMeasuredCostModel(backend_.get(), service_.get(), roof)) {}

Device::Device(std::unique_ptr<cost::CostModel> model) : costs_(std::move(model)) {}

absl::Status Device::health() const {
  return backend_ == nullptr ? absl::OkStatus() : backend_->health();
}

kernels::PlanChoice Device::plans() {
  return [this](const kernels::KernelSpec& spec) {
    const std::optional<timing::Timing> timing = service_->Find(spec);
    return timing.has_value() ? timing->plan : std::string();
  };
}

Device::Device(std::unique_ptr<cost::CostModel> model,
               std::shared_ptr<const timing::Snapshot> snapshot)
    : costs_(std::move(model)), snapshot_(std::move(snapshot)) {}

Devices::Devices(timing::TimingStore* store, const std::string& cache_directory)
    : Devices(store, [cache_directory](const std::string& name, int threads) {
        return OpenHere(name, threads, cache_directory);
      }) {}

absl::StatusOr<std::shared_ptr<Device>> Devices::Get(const std::string& name, int threads,
                                                     absl::string_view snapshot) {
  if (SnapshotOf(name).has_value()) return GetRecorded(name, snapshot);
  QUOTIENT_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, GetOrOpen(name, threads));
  QUOTIENT_RETURN_IF_ERROR(device->health());
  return device;
}

Devices::Opened Devices::GetOrOpen(const std::string& name, int threads) {
  const std::string key = absl::StrCat(name, "/", threads);
  std::promise<Opened> promise;
  std::shared_future<Opened> device;
  bool is_first = false;
  {
    const absl::MutexLock lock(&mutex_);
    const auto [entry, fresh] = devices_.try_emplace(key);
    if (fresh) entry->second = promise.get_future().share();
    device = entry->second;
    is_first = fresh;
  }
  if (is_first) Open(key, name, threads, std::move(promise));
  return device.get();
}

void Devices::Open(const std::string& key, const std::string& name, int threads,
                   std::promise<Opened> promise) {
  Opened device;
  try {
    device = Make(name, threads);
  } catch (const std::bad_alloc&) {
    device = absl::ResourceExhaustedError(absl::StrCat("device ", name, ": no memory is left"));
  }
  if (!device.ok()) {
    const absl::MutexLock lock(&mutex_);
    devices_.erase(key);
  }
  promise.set_value(std::move(device));
}

Devices::Opened Devices::Make(const std::string& name, int threads) const {
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<kernels::Backend> backend, open_(name, threads));
  if (backend == nullptr) {
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<cost::CostModel> model,
                              cost::NewAnalyticCostModel(name));
    return std::make_shared<Device>(std::move(model));
  }
  timing::ServiceOptions options{.threads = threads};
  if (name != "cpu") {
    options.prepare_threads = threads;
    options.batch_keys = 8;  // each with a dozen ways to run it
  }
  std::unique_ptr<timing::TimingService> service =
      timing::NewTimingService(backend.get(), store_, options);
  return std::make_shared<Device>(std::move(backend), std::move(service),
                                  *cost::RoofOf(name, threads));
}

absl::StatusOr<std::shared_ptr<Device>> Devices::GetRecorded(const std::string& name,
                                                             absl::string_view bytes) {
  const absl::MutexLock lock(&mutex_);
  auto found = std::ranges::find(recorded_, name, &Recorded::name);
  if (found == recorded_.end()) {
    const BlobId id = *SnapshotOf(name);
    absl::StatusOr<std::shared_ptr<Device>> device = MakeRecorded(id, bytes);
    if (!device.ok()) {
      return Annotate(device.status(), absl::StrCat("device snapshot ", id.Text()));
    }
    if (recorded_.size() >= kMostRecorded) recorded_.pop_back();
    found = recorded_.insert(recorded_.end(), {name, *std::move(device)});
  }
  std::rotate(recorded_.begin(), found, found + 1);
  return recorded_.front().device;
}

absl::StatusOr<timing::Snapshot> Devices::Record(const std::string& name, int threads,
                                                 int64_t unix_s) {
  std::shared_ptr<Device> device;
  if (!SnapshotOf(name).has_value()) {
    QUOTIENT_ASSIGN_OR_RETURN(device, Get(name, threads));
  }
  if (device == nullptr || device->backend() == nullptr) {
    return MakeError(Reason::kOptionInvalid,
                     absl::StrCat("device: '", name,
                                  "' is not measured, so there is nothing to record; cpu and GPUs "
                                  "(cuda, cuda-strict32) are"));
  }
  const kernels::DeviceFingerprint& fingerprint = device->backend()->fingerprint();
  timing::Snapshot snapshot;
  snapshot.device = name;
  snapshot.partition = device->backend()->partition();
  snapshot.fingerprint = fingerprint.text;
  snapshot.protocol = timing::kProtocolVersion;
  snapshot.recorded_unix_s = unix_s;
  snapshot.engine = std::string(EngineVersion());
  for (const auto& [key, timing] : store_->All(timing::StoredFingerprint(fingerprint))) {
    // What failed may do so for once; what is not supported never runs.
    if (timing.state != timing::TimingState::kFailed) {
      snapshot.timings[key] = timing::Rounded(timing);
    }
  }
  return snapshot;
}

}  // namespace quotient::optimize
