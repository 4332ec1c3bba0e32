#pragma once

// Prepared kernels with data to run on, for the timing lane.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/kernels/cuda/clock_watch.h"
#include "core/kernels/cuda/prepared_kernel.h"
#include "core/kernels/cuda/random_pool.h"
#include "core/kernels/cuda/run_journal.h"

namespace quotient::kernels::cuda {

// What all timed kernels of a GPU share. Borrowed.
struct TimingParts {
  Gpu* gpu;
  RandomPool* pool;
  GpuClock* clock;
  RunJournal* journal;  // May be null.
};

// The ways to run one kernel, on shared data, so only one may run at a time.
//
// A run is a chain of launches, captured and replayed, so that the time includes the gap between
// kernels and excludes the host. Constants, and activations larger than half of the L2, are read
// from another part of the pool at every launch. There are as many captures, used in turn, as are
// needed so that nothing of the first is in the L2 when it runs again. All are captured and
// replayed once before the first is timed.
//
// Fails with RESOURCE_EXHAUSTED.
absl::StatusOr<std::vector<std::unique_ptr<CompiledKernel>>> NewTimedKernels(
    const KernelSpec& spec, const std::vector<std::shared_ptr<const PreparedKernel>>& kernels,
    const TimingParts& parts);

}  // namespace quotient::kernels::cuda
