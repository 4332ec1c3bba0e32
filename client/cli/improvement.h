#pragma once

// The gate of --require-improvement.

#include <string>

#include "absl/status/status.h"
#include "core/report/report.h"

namespace quotient::cli {

// What a result gains over its original, in per cent: as measured, or as predicted where no gain
// was measured. 0 if the original came back.
double GainPercent(const report::Report& report);

// IMPROVEMENT_TOO_SMALL if the gain is below `percent`.
absl::Status CheckImprovement(const report::Report& report, double percent);

}  // namespace quotient::cli
