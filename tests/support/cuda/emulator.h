#pragma once

// Runs our GPU kernels on the host: their texts, compiled by the compiler that this program was
// compiled with, block after block. Finds wrong results, writes out of bounds (with canaries around
// buffers), barriers that not all threads of a block reach and, since the order of threads changes
// from barrier to barrier, most missing barriers.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cuda/source_kernel.h"

namespace quotient::kernels::cuda {

class EmulatedLibrary;

// Cheap to copy. Thread-safe, but kernels that were compiled together run one at a time.
class EmulatedKernel {
 public:
  // All blocks. Buffers in the order of the kernel's parameters; null is an address like any other.
  // INTERNAL if threads of a block part at a barrier.
  absl::Status Run(std::span<void* const> buffers) const;

 private:
  friend absl::StatusOr<std::vector<EmulatedKernel>> Emulate(std::span<const SourceKernel> kernels);

  std::shared_ptr<EmulatedLibrary> library_;
  void (*call_)(void* const* buffers) = nullptr;  // the kernel, as one thread
  bool has_barriers_ = false;
  int64_t grid_ = 0;
  int block_ = 0;
  int num_buffers_ = 0;
};

// Compiles kernels together, which takes much less time than one by one: some tenths of a second,
// and some milliseconds for each. INVALID_ARGUMENT with the compiler's messages. Thread-safe.
absl::StatusOr<std::vector<EmulatedKernel>> Emulate(std::span<const SourceKernel> kernels);
absl::StatusOr<EmulatedKernel> Emulate(const SourceKernel& kernel);

}  // namespace quotient::kernels::cuda
