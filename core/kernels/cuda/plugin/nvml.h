#pragma once

// NVML, the driver's library for monitoring GPUs. It is opened at run time if it exists.

#include <memory>
#include <string>

namespace quotient::kernels::cuda {

// One monitored GPU. Thread-safe.
class Nvml {
 public:
  // Finds the GPU by its PCI bus id, "0000:3b:00.0", because NVML and CUDA number GPUs differently.
  // Returns null if NVML is missing or does not know the GPU.
  static std::unique_ptr<Nvml> Open(const std::string& bus_id);
  virtual ~Nvml() = default;

  // The present clock of the multiprocessors in MHz; 0 if NVML does not report it.
  virtual int ClockMhz() const = 0;
  // "700"; "" if NVML does not report it.
  virtual std::string PowerLimitWatts() const = 0;
  // "on", "off"; "" if there is no such mode.
  virtual std::string MigMode() const = 0;
  // "580.159.04"; "" if not known.
  virtual std::string DriverVersion() const = 0;
};

}  // namespace quotient::kernels::cuda
