#include "core/optimize/devices.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/blob_id.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/optimize.h"
#include "core/optimize/options.h"
#include "core/os/precedence.h"

namespace quotient::optimize {
namespace {

constexpr size_t kMostRecorded = 8;

}  // namespace

Device::Device(MeasuringParts parts)
    : measuring_(std::move(parts)),
      costs_(cost::NewMeasuredCostModel(measuring_.backend.get(), measuring_.service.get(),
                                        measuring_.roof)) {}

Device::Device(std::unique_ptr<cost::CostModel> model) : costs_(std::move(model)) {}

bool Device::has_core_per_thread() const {
  const bool is_cpu =
      measuring_.backend != nullptr && measuring_.arithmetic == verify::DeviceArithmetic::kHost;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return is_cpu && threads() > 1 && threads() <= cores;
}

absl::Status Device::health() const {
  return measuring_.backend == nullptr ? absl::OkStatus() : measuring_.backend->health();
}

kernels::PlanChoice Device::plans() {
  return [this](const kernels::KernelSpec& spec) {
    const std::optional<timing::Timing> timing = measuring_.service->Find(spec);
    return timing.has_value() ? timing->plan : std::string();
  };
}

Device::Device(std::unique_ptr<cost::CostModel> model,
               std::shared_ptr<const timing::Snapshot> snapshot)
    : costs_(std::move(model)), snapshot_(std::move(snapshot)) {}

Devices::Devices(DeviceSetup setup, std::span<const DeviceKind> kinds)
    : setup_(std::move(setup)), kinds_(kinds) {
  if (setup_.takes_precedence) setup_.lane->Run([] { os::TakePrecedence(); });
}

absl::StatusOr<std::shared_ptr<Device>> Devices::Get(const std::string& name, int threads,
                                                     absl::string_view snapshot) {
  if (SnapshotOf(name).has_value()) return GetRecorded(name, snapshot);
  QUOTIENT_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, GetOrOpen(name, threads));
  QUOTIENT_RETURN_IF_ERROR(device->health());
  return device;
}

absl::StatusOr<std::string> Devices::Resolve(const std::string& name, int threads) {
  const DeviceKind* const kind = FindDeviceKind(kinds_, name);
  if (kind == nullptr || !kind->is_name_of_others()) return name;
  absl::Status missing;
  for (const std::string& choice : kind->stands_for) {
    if (!missing.ok()) {
      Log().warn("device {}: taking {}, because: {}", name, choice, std::string(missing.message()));
    }
    missing = GetOrOpen(choice, threads).status();
    if (missing.ok()) return choice;
    if (GetReason(missing) != Reason::kDeviceNotPresent) break;
  }
  return missing;
}

absl::StatusOr<DeviceIdentity> Devices::Identify(const std::string& name, int threads) {
  DeviceIdentity identity;
  QUOTIENT_ASSIGN_OR_RETURN(identity.name, Resolve(name, threads));
  const DeviceKind* const kind = FindDeviceKind(kinds_, identity.name);
  if (kind == nullptr || !kind->is_measured()) return identity;
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device,
                            GetOrOpen(identity.name, threads));
  identity.fingerprint = device->backend()->fingerprint().text;
  return identity;
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
  const DeviceKind* const kind = FindDeviceKind(kinds_, name);
  if (kind == nullptr || kind->is_name_of_others()) {
    return MakeError(Reason::kDeviceNotPresent, absl::StrCat("there is no device '", name, "'"));
  }
  if (!kind->is_measured()) {
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<cost::CostModel> model,
                              cost::NewAnalyticCostModel(name));
    return std::make_shared<Device>(std::move(model));
  }
  const BackendSetup setup{.threads = threads,
                           .cache_directory = setup_.cache_directory,
                           .environment = setup_.environment,
                           .takes_precedence = setup_.takes_precedence};
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<kernels::Backend> backend, kind->open(name, setup));
  std::unique_ptr<timing::TimingService> service =
      timing::NewTimingService(backend.get(), setup_.store, setup_.lane, kind->timing(threads));
  const cost::Roof roof = kind->roof(name, backend->fingerprint().text, threads);
  return std::make_shared<Device>(MeasuringParts{.backend = std::move(backend),
                                                 .service = std::move(service),
                                                 .lane = setup_.lane,
                                                 .roof = roof,
                                                 .arithmetic = kind->arithmetic(name)});
}

absl::StatusOr<std::shared_ptr<Device>> Devices::MakeRecorded(const BlobId& id,
                                                              absl::string_view bytes) const {
  if (BlobId::Of(bytes) != id) {
    return MakeError(Reason::kOptionInvalid,
                     bytes.empty() ? "is not known here: --device-snapshot FILE gives its content"
                                   : "the bytes are others");
  }
  QUOTIENT_ASSIGN_OR_RETURN(timing::Snapshot parsed, timing::ParseSnapshot(bytes));
  const DeviceKind* const kind = FindDeviceKind(kinds_, parsed.device);
  if (kind == nullptr || !kind->is_measured()) {
    return MakeError(Reason::kOptionInvalid,
                     absl::StrCat("the snapshot is of a device '", parsed.device,
                                  "', of which nothing is known here"));
  }
  const cost::Roof roof = kind->roof(parsed.device, parsed.fingerprint, parsed.partition.threads);
  const auto snapshot = std::make_shared<const timing::Snapshot>(std::move(parsed));
  return std::make_shared<Device>(cost::NewRecordedCostModel(snapshot, roof), snapshot);
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

std::vector<std::shared_ptr<Device>> Devices::OpenOnes(const std::string& name) const {
  const std::string prefix = absl::StrCat(name, "/");
  std::vector<std::shared_ptr<Device>> open;
  const absl::MutexLock lock(&mutex_);
  for (const auto& [key, opened] : devices_) {
    if (!absl::StartsWith(key, prefix)) continue;
    if (opened.wait_for(std::chrono::seconds(0)) != std::future_status::ready) continue;
    const Opened& device = opened.get();
    if (device.ok() && (*device)->backend() != nullptr) open.push_back(*device);
  }
  return open;
}

int64_t Devices::FailuresOf(const std::string& name) const {
  int64_t failures = 0;
  for (const std::shared_ptr<Device>& device : OpenOnes(name)) {
    failures += device->backend()->failures();
  }
  return failures;
}

void Devices::EndHungCalls(const std::string& name, double seconds) const {
  for (const std::shared_ptr<Device>& device : OpenOnes(name)) {
    device->backend()->EndHungCalls(seconds);
  }
}

absl::StatusOr<timing::Snapshot> Devices::Record(const std::string& requested, int threads,
                                                 int64_t unix_s) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string name, Resolve(requested, threads));
  std::shared_ptr<Device> device;
  if (!SnapshotOf(name).has_value()) {
    QUOTIENT_ASSIGN_OR_RETURN(device, Get(name, threads));
  }
  if (device == nullptr || device->backend() == nullptr) {
    return MakeError(
        Reason::kOptionInvalid,
        absl::StrCat("device: '", name, "' is not measured, so there is nothing to record; ",
                     AcceptedDevices(DeviceFilter::kMeasured), " are"));
  }
  const kernels::DeviceFingerprint& fingerprint = device->backend()->fingerprint();
  timing::Snapshot snapshot;
  snapshot.device = name;
  snapshot.partition = device->backend()->partition();
  snapshot.fingerprint = fingerprint.text;
  snapshot.protocol = timing::kProtocolVersion;
  snapshot.recorded_unix_s = unix_s;
  snapshot.engine = std::string(EngineVersion());
  for (const auto& [key, timing] : setup_.store->All(timing::StoredFingerprint(fingerprint))) {
    // A kernel that failed may run the next time, so it is not recorded. A kernel that the device
    // does not support is recorded, because it will never run.
    if (timing.state != timing::TimingState::kFailed) {
      snapshot.timings[key] = timing::Rounded(timing);
    }
  }
  return snapshot;
}

}  // namespace quotient::optimize
