#pragma once

// One kernel with random data, for the timing lane.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::onednn {

absl::StatusOr<std::unique_ptr<CompiledKernel>> CompileTimedKernel(const KernelSpec& spec);

// Frees the random floats that stand for weights, which may be as large as these, unless a kernel
// still reads them. The next kernel makes them anew. Thread-safe.
void ReleaseRandomWeights();

}  // namespace quotient::kernels::onednn
