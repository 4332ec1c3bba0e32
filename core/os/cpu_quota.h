#pragma once

// How many processors' time the control group of this process may use. The processors themselves
// are all there to be seen, but whoever uses more of their time is stopped until the next period.

#include <optional>

#include "absl/strings/string_view.h"

namespace quotient::os {

// Nothing if there is no such limit. Thread-safe.
std::optional<double> CpuQuota();

// Reads what is in cpu.max: "150000 100000" is 1.5, and "max 100000" is no limit.
std::optional<double> ParseCpuMax(absl::string_view text);

}  // namespace quotient::os
