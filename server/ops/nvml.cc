#include "server/ops/nvml.h"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace quotient::ops {
namespace {

// From nvml.h, which few machines have. These are stable, because NVML only adds functions.
constexpr int kSuccess = 0;
constexpr int kTemperatureOfGpu = 0;
constexpr int kClockOfSms = 1;
constexpr int kSinceLoad = 0;  // Counters of errors that begin anew when the driver is loaded.
constexpr unsigned long long kXidEvents = 8;
constexpr unsigned kMostUuidBytes = 96;
using Handle = void*;

struct Memory {
  unsigned long long total = 0, free = 0, used = 0;
};
struct Utilization {
  unsigned gpu = 0, memory = 0;  // Percent.
};
struct Violation {
  unsigned long long reference_time = 0, nanoseconds = 0;
};
struct Event {
  Handle device = nullptr;
  unsigned long long kind = 0, data = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};

// Causes for which clocks are held down: their bits, and the policies by which the time is counted.
constexpr std::pair<const char*, unsigned long long> kCauses[] = {
    {"power_cap", 0x4}, {"hardware_slowdown", 0x8}, {"sync_boost", 0x10},
    {"thermal", 0x20},  {"hardware_thermal", 0x40}, {"power_brake", 0x80}};
constexpr std::pair<const char*, int> kPolicies[] = {
    {"power", 0}, {"thermal", 1}, {"sync_boost", 2}, {"board_limit", 3}, {"reliability", 5}};
constexpr std::pair<const char*, int> kEccErrors[] = {{"ecc_corrected", 0}, {"ecc_uncorrected", 1}};

// A function of the library, which fails if the library lacks it.
template <typename... Parameters>
class Function {
 public:
  Function(void* library, const char* name)
      : function_(reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name))) {}
  bool operator()(Parameters... parameters) const {
    return function_ != nullptr && function_(parameters...) == kSuccess;
  }

 private:
  int (*function_)(Parameters...);
};

class LoadedNvml : public Nvml {
 public:
  explicit LoadedNvml(void* library) : library_(library) {}

  // Whether the library can be used.
  bool Begin() {
    if (!Function<>(library_, "nvmlInit_v2")()) return false;
    unsigned count = 0;
    if (!Function<unsigned*>(library_, "nvmlDeviceGetCount_v2")(&count)) return false;
    const Function<unsigned, Handle*> find(library_, "nvmlDeviceGetHandleByIndex_v2");
    for (unsigned i = 0; i < count; ++i) {
      Handle device = nullptr;
      if (find(i, &device)) gpus_.push_back({.ordinal = static_cast<int>(i), .device = device});
    }
    const Function<Handle, char*, unsigned> uuid(library_, "nvmlDeviceGetUUID");
    for (Gpu& gpu : gpus_) {
      std::array<char, kMostUuidBytes + 1> text{};
      if (uuid(gpu.device, text.data(), kMostUuidBytes)) gpu.uuid = text.data();
    }
    ListenForXids();
    return true;
  }

  std::vector<GpuSample> Read() override {
    CountXids();
    std::vector<GpuSample> samples;
    for (const Gpu& gpu : gpus_) samples.push_back(Read(gpu));
    return samples;
  }

 private:
  struct Gpu {
    int ordinal = 0;
    Handle device = nullptr;
    std::string uuid;
    bool tells_xids = false;
    int64_t xids = 0;
  };

  void ListenForXids() {
    if (!Function<Handle*>(library_, "nvmlEventSetCreate")(&events_)) return;
    const Function<Handle, unsigned long long, Handle> listen(library_, "nvmlDeviceRegisterEvents");
    for (Gpu& gpu : gpus_) gpu.tells_xids = listen(gpu.device, kXidEvents, events_);
  }

  void CountXids() {
    if (events_ == nullptr) return;
    const Function<Handle, Event*, unsigned> wait(library_, "nvmlEventSetWait_v2");
    for (Event event; wait(events_, &event, /*milliseconds=*/0);) {
      for (Gpu& gpu : gpus_) {
        if (gpu.device == event.device && event.kind == kXidEvents) ++gpu.xids;
      }
    }
  }

  GpuSample Read(const Gpu& gpu) const {
    GpuSample sample{.ordinal = gpu.ordinal, .uuid = gpu.uuid};
    Memory memory;
    // A GPU that was lost answers nothing.
    sample.is_up = memory_(gpu.device, &memory);
    if (!sample.is_up) return sample;
    sample.memory_total_bytes = static_cast<double>(memory.total);
    sample.memory_used_bytes = static_cast<double>(memory.used);
    Utilization utilization;
    if (utilization_(gpu.device, &utilization)) sample.utilization = utilization.gpu / 100.0;
    unsigned value = 0;
    if (temperature_(gpu.device, kTemperatureOfGpu, &value)) sample.temperature_celsius = value;
    if (clock_(gpu.device, kClockOfSms, &value)) sample.sm_clock_hertz = 1e6 * value;
    ReadThrottling(gpu, &sample);
    ReadErrors(gpu, &sample);
    return sample;
  }

  void ReadThrottling(const Gpu& gpu, GpuSample* sample) const {
    unsigned long long causes = 0;
    if (causes_(gpu.device, &causes)) {
      for (const auto& [name, bit] : kCauses) sample->throttled[name] = (causes & bit) != 0;
    }
    for (const auto& [name, policy] : kPolicies) {
      Violation violation;
      if (!violation_(gpu.device, policy, &violation)) continue;
      sample->throttled_seconds[name] = 1e-9 * static_cast<double>(violation.nanoseconds);
    }
  }

  void ReadErrors(const Gpu& gpu, GpuSample* sample) const {
    for (const auto& [name, kind] : kEccErrors) {
      unsigned long long count = 0;
      if (ecc_(gpu.device, kind, kSinceLoad, &count)) {
        sample->errors[name] = static_cast<double>(count);
      }
    }
    if (gpu.tells_xids) sample->errors["xid"] = static_cast<double>(gpu.xids);
  }

  void* const library_;
  const Function<Handle, Memory*> memory_{library_, "nvmlDeviceGetMemoryInfo"};
  const Function<Handle, Utilization*> utilization_{library_, "nvmlDeviceGetUtilizationRates"};
  const Function<Handle, int, unsigned*> temperature_{library_, "nvmlDeviceGetTemperature"};
  const Function<Handle, int, unsigned*> clock_{library_, "nvmlDeviceGetClockInfo"};
  const Function<Handle, unsigned long long*> causes_{library_,
                                                      "nvmlDeviceGetCurrentClocksThrottleReasons"};
  const Function<Handle, int, Violation*> violation_{library_, "nvmlDeviceGetViolationStatus"};
  const Function<Handle, int, int, unsigned long long*> ecc_{library_,
                                                             "nvmlDeviceGetTotalEccErrors"};
  std::vector<Gpu> gpus_;
  Handle events_ = nullptr;  // Null if there are none.
};

}  // namespace

std::unique_ptr<Nvml> OpenNvml(const std::string& library) {
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return nullptr;
  auto nvml = std::make_unique<LoadedNvml>(opened);
  if (!nvml->Begin()) return nullptr;
  return nvml;
}

}  // namespace quotient::ops
