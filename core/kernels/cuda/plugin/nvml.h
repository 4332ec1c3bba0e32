#pragma once

// NVML, the driver's library for watching GPUs, where there is one: opened at run time.

#include <memory>
#include <string>

namespace quotient::kernels::cuda {

// One GPU, watched. Thread-safe.
class Nvml {
 public:
  // By PCI bus id, "0000:3b:00.0": NVML numbers GPUs in another order than CUDA does. Null if NVML
  // is missing or does not know the GPU.
  static std::unique_ptr<Nvml> Open(const std::string& bus_id);
  virtual ~Nvml() = default;

  // Of the multiprocessors, now; 0 if NVML does not say.
  virtual int ClockMhz() const = 0;
  // "700"; "" if NVML does not say.
  virtual std::string PowerLimitWatts() const = 0;
  // "on", "off"; "" where there is no such mode.
  virtual std::string MigMode() const = 0;
  // "580.159.04"; "" if nobody says.
  virtual std::string DriverVersion() const = 0;
};

}  // namespace quotient::kernels::cuda
