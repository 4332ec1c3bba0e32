#pragma once

// The processors of this machine, as far as the times of kernels depend on them.

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::kernels {

// Read from the system, or made up by tests.
struct CpuDescription {
  std::string vendor, family, model, stepping, model_name;
  std::string flags;  // All, separated by blanks.
  int cores = 0;      // That this process may use.
  std::string l1d, l2, l3;
};

// Describes this machine. Fails with FAILED_PRECONDITION, naming what could not be found, because
// an incomplete description would mix timings of different machines.
absl::StatusOr<CpuDescription> DescribeCpu();

// Parses the text of /proc/cpuinfo; leaves caches and cores empty. Fails with FAILED_PRECONDITION,
// naming what is missing.
absl::StatusOr<CpuDescription> ParseCpuInfo(absl::string_view cpuinfo);

// "VENDOR family F model M stepping S (NAME); flags F", with those flags by which kernels are
// chosen.
std::string ProcessorText(const CpuDescription& cpu);

}  // namespace quotient::kernels
