#pragma once

// Kernel: one compiled KernelSpec. It owns no buffers; its user provides them, so the same kernel
// serves a whole graph and the timing lane.

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

// A constant in the form that the kernel reads.
struct PackedConstant {
  int64_t bytes = 0;
  // Whether the values affect neither time nor safety, so that the timing lane may use any finite
  // floats.
  bool any_floats = true;
};

struct KernelBuffers {
  std::span<const void* const> operands;   // Parallel to AllOperands; null: constant or left out.
  std::span<const void* const> constants;  // Parallel to Kernel::constants.
  std::span<void* const> outputs;          // Null: left out.
  void* scratch = nullptr;                 // Kernel::scratch_bytes, aligned to 64.
};

// What a user of a kernel keeps between runs, such as prepared argument lists.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

// Immutable after construction, so several threads may call Run, each with its own buffers and
// state. Values are stored as core/kernels/storage.h says, in the layouts of the spec.
class Kernel {
 public:
  virtual ~Kernel() = default;

  const std::vector<PackedConstant>& constants() const { return constants_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }

  // Writes the packed constants. `operands` is parallel to AllOperands and has the constant ones. A
  // packed buffer may be null if it is not wanted; the tensors it is made of may then be null, too.
  virtual absl::Status Pack(std::span<const model::Tensor* const> operands,
                            std::span<void* const> packed) const = 0;

  // The state to run with; null if the kernel needs none.
  virtual std::unique_ptr<KernelState> NewState() const { return nullptr; }

  virtual absl::Status Run(const KernelBuffers& buffers, KernelState* state) const = 0;

 protected:
  std::vector<PackedConstant> constants_;
  int64_t scratch_bytes_ = 0;
};

// A kernel whose constants are stored like its other operands: packed buffer i is the i-th constant
// of AllOperands in storage form, in the layout of the spec.
class PlainKernel : public Kernel {
 public:
  absl::Status Pack(std::span<const model::Tensor* const> operands,
                    std::span<void* const> packed) const override;

 protected:
  explicit PlainKernel(const KernelSpec& spec);
  // The data of operand `index`, constant or not.
  const void* Data(const KernelBuffers& buffers, size_t index) const;

  const KernelSpec spec_;
  const std::vector<Operand> operands_;  // AllOperands.

 private:
  std::vector<int> packed_index_;  // By operand; -1: not constant.
};

// Write a tensor into `out` in storage form and the given layout, and read it back.
void PackTensor(const model::Tensor& tensor, Layout layout, void* out);
model::Tensor UnpackTensor(const Operand& operand, const void* data);

}  // namespace quotient::kernels::cpu
