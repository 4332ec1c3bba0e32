#pragma once

// A whole graph on a GPU: one arena, and one captured sequence that is replayed.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/kernels/cuda/clock_watch.h"
#include "core/kernels/cuda/constant_pool.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/cuda/kernel_library.h"
#include "core/kernels/cuda/run_journal.h"
#include "core/model/graph.h"

namespace quotient::kernels::cuda {

// What all graphs on a GPU share. Borrowed.
struct SharedParts {
  Gpu* gpu;
  KernelLibrary* library;
  ConstantPool* constants;
  GpuClock* clock;
  RunJournal* journal;  // May be null.
};

// Independent kernels run concurrently on up to `lanes` lanes. Errors name the node.
absl::StatusOr<std::unique_ptr<Executable>> CompileExecutable(const model::Graph& graph,
                                                              const PartitionOptions& partition,
                                                              const PlanChoice& plans, int lanes,
                                                              const SharedParts& shared);

}  // namespace quotient::kernels::cuda
