#pragma once

// Kernel: one compiled KernelSpec. It owns no data; whoever runs it brings the buffers, so that the
// same kernel serves a whole graph and the timing lane.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"

namespace quotient::kernels::cpu {

// A constant in the form the kernel reads.
struct PackedConstant {
  int64_t bytes = 0;
  // The values decide neither time nor safety: the timing lane may put any finite floats here.
  bool any_floats = true;
};

struct KernelBuffers {
  std::span<const void* const> operands;   // parallel to AllOperands; null: constant or left out
  std::span<const void* const> constants;  // parallel to Kernel::constants
  std::span<void* const> outputs;          // null: left out
  void* scratch = nullptr;                 // Kernel::scratch_bytes, aligned to 64
};

// What one user of a kernel keeps from run to run: prepared argument lists and the like.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

// Immutable after construction, so Run may be called from several threads with buffers and a state
// of their own. Values are as core/kernels/storage.h says, in the layouts of the spec.
class Kernel {
 public:
  virtual ~Kernel() = default;

  const std::vector<PackedConstant>& constants() const { return constants_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }

  // Writes the packed constants. `operands` is parallel to AllOperands and has the constant ones;
  // packed buffers that are null are not wanted, and neither are the tensors that they are made of.
  virtual absl::Status Pack(std::span<const model::Tensor* const> operands,
                            std::span<void* const> packed) const = 0;

  // The state to run with; null where the kernel needs none.
  virtual std::unique_ptr<KernelState> NewState() const { return nullptr; }

  virtual absl::Status Run(const KernelBuffers& buffers, KernelState* state) const = 0;

 protected:
  std::vector<PackedConstant> constants_;
  int64_t scratch_bytes_ = 0;
};

// A kernel whose constants lie as its other operands do: packed buffer i is the i-th constant of
// AllOperands in storage form and in the layout of the spec.
class PlainKernel : public Kernel {
 public:
  absl::Status Pack(std::span<const model::Tensor* const> operands,
                    std::span<void* const> packed) const override;

 protected:
  explicit PlainKernel(const KernelSpec& spec);
  // Where operand `index` lies, constant or not.
  const void* Data(const KernelBuffers& buffers, size_t index) const;

  const KernelSpec spec_;
  const std::vector<Operand> operands_;  // AllOperands

 private:
  std::vector<int> packed_index_;  // by operand; -1: not constant
};

// Writes a tensor into `out` in storage form and the given layout, and back.
void PackTensor(const model::Tensor& tensor, Layout layout, void* out);
model::Tensor UnpackTensor(const Operand& operand, const void* data);

// Our own kernel for a spec: the fused element-wise kernel, copies, reductions, ... and for what
// has no kernel the operator's reference evaluation, slow but right. UNIMPLEMENTED if there is not
// even that.
absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelSpec& spec);

}  // namespace quotient::kernels::cpu
