#pragma once

// What a device reaches at best, measured like any other kernels: in the same runtime, by the
// timing service, and kept with the other timings.

#include <optional>

#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/report/explanation.h"

namespace quotient::explain {

// Measures a large matrix product and a convolution, element-wise kernels of several sizes, and one
// that does next to nothing. Nullopt if `stop` fires before, or if any of them cannot be measured.
// Blocks.
std::optional<report::Peak> MeasurePeak(cost::CostModel& costs, const StopCondition& stop);

// What a kernel does, as far as the peak counts it: the additions and multiplications of matrix
// products, and bytes. The arithmetic of other operators is not counted.
struct KernelWork {
  double operations = 0;
  double activation_bytes = 0;
  double constant_bytes = 0;
  // About what a run of the whole model reads and writes, which drives constants out of caches.
  double footprint_bytes = 0;
};

// The least time of a kernel, and what takes it.
struct LeastTime {
  double us = 0;
  const char* bound = "";  // KernelsBelowPeak::bound
};
LeastTime TimeAtPeak(const report::Peak& peak, const KernelWork& work);

}  // namespace quotient::explain
