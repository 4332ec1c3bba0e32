#pragma once

// Runs our GPU kernels on the host, block after block. Their texts are compiled by the compiler
// that compiled this program. Finds wrong results, writes out of bounds (with canaries around
// buffers), barriers that not all threads of a block reach, and most missing barriers, because the
// order of threads changes from barrier to barrier.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/source_kernel.h"

namespace quotient::kernels::cuda {

class EmulatedLibrary;

// Cheap to copy. Thread-safe, but kernels that were compiled together run one at a time.
class EmulatedKernel {
 public:
  // Runs all blocks. `buffers` are in the order of the kernel's parameters and may be null.
  // INTERNAL if only some threads of a block reach a barrier.
  absl::Status Run(std::span<void* const> buffers) const;

 private:
  friend absl::StatusOr<std::vector<EmulatedKernel>> Emulate(std::span<const SourceKernel> kernels);

  std::shared_ptr<EmulatedLibrary> library_;
  void (*call_)(void* const* buffers) = nullptr;  // Runs the kernel for one thread.
  bool has_barriers_ = false;
  int64_t grid_ = 0;
  int block_ = 0;
  int num_buffers_ = 0;
};

// Compiles kernels together, which takes much less time than one by one: a few tenths of a second,
// and a few milliseconds for each kernel. Fails with INVALID_ARGUMENT and the compiler's messages.
// Thread-safe.
absl::StatusOr<std::vector<EmulatedKernel>> Emulate(std::span<const SourceKernel> kernels);
absl::StatusOr<EmulatedKernel> Emulate(const SourceKernel& kernel);

}  // namespace quotient::kernels::cuda
