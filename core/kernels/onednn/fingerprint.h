#pragma once

// The CPU as a device: everything that timings depend on.

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/backend.h"
#include "core/os/environment.h"

namespace quotient::kernels::onednn {

// The parts of the fingerprint that do not come from the library. Read from the system, or made up
// by tests.
struct CpuDescription {
  std::string vendor, family, model, stepping, model_name;
  std::string flags;  // All, separated by blanks.
  int cores = 0;      // That this process may use.
  std::string l1d, l2, l3;
};

// Parses the text of /proc/cpuinfo; leaves caches and cores empty. Fails with FAILED_PRECONDITION,
// naming what is missing.
absl::StatusOr<CpuDescription> ParseCpuInfo(absl::string_view cpuinfo);

// The fingerprint of this machine with that many threads. The environment says how the OpenMP
// runtime waits; it read it when the process started. Fails with FAILED_PRECONDITION, naming
// what could not be found, because an incomplete fingerprint would mix timings of different
// machines.
absl::StatusOr<DeviceFingerprint> CpuFingerprint(int threads, const os::Environment& environment);

}  // namespace quotient::kernels::onednn
