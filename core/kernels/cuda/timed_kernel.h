#pragma once

// A prepared kernel with data of its own, for the timing lane.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/kernels/cuda/clock_watch.h"
#include "core/kernels/cuda/prepared_kernel.h"
#include "core/kernels/cuda/random_pool.h"

namespace quotient::kernels::cuda {

// What all timed kernels of a device share.
struct TimingContext {
  Gpu* gpu;
  RandomPool* pool;
  ClockWatch* clock;
};

// Runs are launches in a chain, captured once and replayed, so that the gap between kernels is part
// of the time and the host's part is not. Constants, and activations larger than half of the L2,
// are read from further on in the pool at every launch of a chain. RESOURCE_EXHAUSTED.
absl::StatusOr<std::unique_ptr<CompiledKernel>> NewTimedKernel(
    const KernelSpec& spec, std::shared_ptr<const PreparedKernel> kernel,
    const TimingContext& context);

}  // namespace quotient::kernels::cuda
