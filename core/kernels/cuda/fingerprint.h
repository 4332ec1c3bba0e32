#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/kernels/backend.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/cuda/interface/matmul_problem.h"

namespace quotient::kernels::cuda {

// Increased when Quotient's kernels, or the set of ways to run kernels, change. Older timings are
// then not used.
inline constexpr int kKernelsVersion = 3;

// "strict32" or "tf32".
const char* PolicyName(MathPolicy policy);

// Everything that timings on this GPU depend on: hardware, clocks, driver, libraries, math policy,
// Quotient's own kernels.
DeviceFingerprint GpuFingerprint(const GpuFacts& facts, MathPolicy policy);

// The fingerprint without the patch level of its driver: "; driver 580.159.04 for" becomes
// "; driver 580.159 for". Unchanged if the driver's version has no patch level.
std::string WithoutDriverPatch(absl::string_view fingerprint);

// Reads back what a fingerprint says of the hardware: name, compute capability, processors, L2, bus
// and clocks, each as exactly as it is written there; the other facts stay unset. Nothing for a
// text that GpuFingerprint did not write.
std::optional<GpuFacts> HardwareOf(absl::string_view fingerprint);

}  // namespace quotient::kernels::cuda
