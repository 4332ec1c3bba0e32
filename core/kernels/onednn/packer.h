#pragma once

// Packing the constants of kernels as they want them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cpu/kernel.h"
#include "core/kernels/onednn/aligned_buffer.h"
#include "core/kernels/onednn/constant_pool.h"
#include "core/kernels/partition.h"
#include "core/model/graph.h"

namespace quotient::kernels::onednn {

// The error of memory that could not be had.
absl::Status OutOfMemory(int64_t bytes);

// Packs the constants of the kernels of a graph, or takes them from the pool. They are packed into
// memory that is used again and again, because touching fresh memory takes longer than packing,
// unless they are so large that the memory for both would count. Not thread-safe. The graph and the
// pool must outlive it, but not what it returns.
class Packer {
 public:
  Packer(const model::Graph& graph, ConstantPool& pool) : graph_(graph), pool_(pool) {}

  // Fails with RESOURCE_EXHAUSTED.
  absl::StatusOr<PackedConstants> Pack(const KernelGroup& group, const cpu::Kernel& kernel);

 private:
  using Tensors = std::vector<const model::Tensor*>;
  using Shared = absl::StatusOr<std::shared_ptr<const std::byte>>;

  // Where the constants of a kernel are packed into, and who owns what is not used again.
  struct Staged {
    std::vector<void*> places;
    std::vector<std::shared_ptr<const std::byte>> own;  // Parallel; else null.
  };

  // The constant operands of a kernel, null where there is none.
  Tensors TensorsOf(const KernelGroup& group) const;
  absl::StatusOr<PackedConstants> PackNew(const Tensors& tensors, const cpu::Kernel& kernel);
  absl::StatusOr<Staged> Stage(const cpu::Kernel& kernel);
  void ReleaseRead(const Tensors& tensors);
  Shared Copy(std::span<const std::byte> bytes);
  absl::StatusOr<std::shared_ptr<std::byte>> FromSlab(int64_t bytes);

  const model::Graph& graph_;
  ConstantPool& pool_;
  AlignedBuffer staged_;  // For all but the largest constants.
  int64_t staged_bytes_ = 0;
  int64_t read_bytes_ = 0;           // Of tensors, since mapped files were released.
  std::shared_ptr<std::byte> slab_;  // Where small constants go.
  int64_t slab_used_ = 0;            // Its bytes that are taken.
};

}  // namespace quotient::kernels::onednn
