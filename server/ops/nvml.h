#pragma once

// What NVML, the library of NVIDIA's driver for monitoring, tells of the GPUs of this machine. It
// is opened at run time if it is there.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quotient::ops {

// What is known of a GPU at some time. What the GPU or the driver does not tell is unset or left
// out.
struct GpuSample {
  int ordinal = 0;   // NVML's number, which need not be CUDA's.
  std::string uuid;  // "GPU-..."
  bool is_up = false;
  std::optional<double> memory_total_bytes;
  std::optional<double> memory_used_bytes;
  std::optional<double> utilization;  // The share of time in which a kernel ran, 0 to 1.
  std::optional<double> temperature_celsius;
  std::optional<double> sm_clock_hertz;
  std::map<std::string, bool> throttled;            // Whether clocks are held down now, by cause.
  std::map<std::string, double> throttled_seconds;  // Since the driver was loaded, by cause.
  std::map<std::string, double> errors;             // By kind: "ecc_corrected", "ecc_uncorrected"
                                                    // since the driver was loaded, and "xid" since
                                                    // the library was opened.
};

// Calls may hang with the driver. For one thread.
class Nvml {
 public:
  virtual ~Nvml() = default;
  virtual std::vector<GpuSample> Read() = 0;
};

// Returns null if there is no such library, or it cannot be used. It stays loaded as long as the
// process lives.
std::unique_ptr<Nvml> OpenNvml(const std::string& library);

}  // namespace quotient::ops
