#pragma once

// The CPU as a device: everything that makes two timings comparable.

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/backend.h"

namespace quotient::kernels::onednn {

// What the fingerprint is made of that does not come from the library; read from the system, or
// made up by tests.
struct CpuDescription {
  std::string vendor, family, model, stepping, model_name;
  std::string flags;  // all, separated by blanks
  int cores = 0;      // this process may use
  std::string l1d, l2, l3;
};

// From the text of /proc/cpuinfo; caches and cores are left empty. FAILED_PRECONDITION naming what
// is missing.
absl::StatusOr<CpuDescription> ParseCpuInfo(absl::string_view cpuinfo);

// Of this machine with that many threads. FAILED_PRECONDITION naming what could not be found: a
// fingerprint with a hole would make timings of different machines one.
absl::StatusOr<DeviceFingerprint> CpuFingerprint(int threads);

}  // namespace quotient::kernels::onednn
