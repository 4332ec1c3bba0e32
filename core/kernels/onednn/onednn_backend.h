#pragma once

// The CPU backend: oneDNN's kernels, and Quotient's own (core/kernels/cpu) where it has none.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/os/environment.h"

namespace quotient::kernels::onednn {

// Kernels use `threads` threads of the OpenMP pool. `environment` is part of the fingerprint. Fails
// with FAILED_PRECONDITION if the machine cannot be identified (fingerprint.h).
absl::StatusOr<std::unique_ptr<Backend>> NewBackend(int threads,
                                                    const os::Environment& environment = {});

}  // namespace quotient::kernels::onednn
