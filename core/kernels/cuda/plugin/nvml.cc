#include "core/kernels/cuda/plugin/nvml.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace quotient::kernels::cuda {

namespace {

// From nvml.h, which some toolkits lack. These are stable, because NVML only adds functions.
constexpr int kSuccess = 0;
constexpr int kClockSm = 1;
using NvmlDevice = void*;
using Init = int();
using GetHandleByPciBusId = int(const char*, NvmlDevice*);
using GetClockInfo = int(NvmlDevice, int, unsigned*);
using GetEnforcedPowerLimit = int(NvmlDevice, unsigned*);
using GetMigMode = int(NvmlDevice, unsigned*, unsigned*);
using GetDriverVersion = int(char*, unsigned);

template <typename Function>
Function* Find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

class OpenNvml : public Nvml {
 public:
  OpenNvml(void* library, NvmlDevice device)
      : device_(device),
        clock_(Find<GetClockInfo>(library, "nvmlDeviceGetClockInfo")),
        power_(Find<GetEnforcedPowerLimit>(library, "nvmlDeviceGetEnforcedPowerLimit")),
        mig_(Find<GetMigMode>(library, "nvmlDeviceGetMigMode")),
        driver_(Find<GetDriverVersion>(library, "nvmlSystemGetDriverVersion")) {}

  int ClockMhz() const override {
    unsigned mhz = 0;
    if (clock_ == nullptr || clock_(device_, kClockSm, &mhz) != kSuccess) return 0;
    return static_cast<int>(mhz);
  }

  std::string PowerLimitWatts() const override {
    unsigned milliwatts = 0;
    if (power_ == nullptr || power_(device_, &milliwatts) != kSuccess) return "";
    return absl::StrCat(milliwatts / 1000);
  }

  std::string MigMode() const override {
    unsigned current = 0;
    unsigned pending = 0;
    if (mig_ == nullptr || mig_(device_, &current, &pending) != kSuccess) return "";
    return current != 0 ? "on" : "off";
  }

  std::string DriverVersion() const override {
    char version[96] = {};
    if (driver_ == nullptr || driver_(version, sizeof(version) - 1) != kSuccess) return "";
    return version;
  }

 private:
  const NvmlDevice device_;
  GetClockInfo* const clock_;
  GetEnforcedPowerLimit* const power_;
  GetMigMode* const mig_;
  GetDriverVersion* const driver_;
};

}  // namespace

std::unique_ptr<Nvml> Nvml::Open(const std::string& bus_id) {
  // Never closed, because the GPU is monitored as long as the process lives.
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto* init = Find<Init>(library, "nvmlInit_v2");
  auto* find = Find<GetHandleByPciBusId>(library, "nvmlDeviceGetHandleByPciBusId_v2");
  NvmlDevice device = nullptr;
  if (init == nullptr || find == nullptr || init() != kSuccess ||
      find(bus_id.c_str(), &device) != kSuccess) {
    return nullptr;
  }
  return std::make_unique<OpenNvml>(library, device);
}

}  // namespace quotient::kernels::cuda
