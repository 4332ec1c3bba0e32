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

// What all timed kernels of a GPU have in common. Borrowed.
struct TimingParts {
  Gpu* gpu;
  RandomPool* pool;
  GpuClock* clock;
  RunJournal* journal;  // may be null
};

// The ways to run one kernel, on data that they share: one of them at a time.
//
// Runs are launches in a chain, captured and replayed, so that the gap between kernels is part of
// the time and the host's part is not. Constants, and activations larger than half of the L2, are
// read from further on in the pool at every launch; there are as many captures, taken in turn, as
// it takes to come round when nothing of the first is in the L2 any more. All are captured, and
// each is replayed once, before the first one is timed.
//
// RESOURCE_EXHAUSTED.
absl::StatusOr<std::vector<std::unique_ptr<CompiledKernel>>> NewTimedKernels(
    const KernelSpec& spec, const std::vector<std::shared_ptr<const PreparedKernel>>& kernels,
    const TimingParts& parts);

}  // namespace quotient::kernels::cuda
