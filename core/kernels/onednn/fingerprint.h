#pragma once

// The CPU as a device: everything that timings depend on.

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/os/environment.h"

namespace quotient::kernels::onednn {

// The fingerprint of this machine with that many threads. The environment says how the OpenMP
// runtime waits; it read it when the process started. Fails as DescribeCpu does.
absl::StatusOr<DeviceFingerprint> CpuFingerprint(int threads, const os::Environment& environment);

}  // namespace quotient::kernels::onednn
