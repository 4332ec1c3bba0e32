#pragma once

// Between tensors and how values lie on the device: native storage (core/kernels/storage.h).

#include <cstddef>
#include <span>
#include <vector>

#include "core/kernels/cuda/program.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"

namespace quotient::kernels::cuda {

// Of the value in native storage; 0 for what is left out.
int64_t BytesOf(const Operand& operand);

// The tensor in the operand's layout.
std::vector<std::byte> Pack(const model::Tensor& tensor, Layout layout);
// The value that lies there; `bytes` are BytesOf(operand).
model::Tensor Unpack(const Operand& operand, std::span<const std::byte> bytes);

// How much device memory a constant takes. `operands`: AllOperands of the spec.
int64_t BytesOf(const PackedConstant& constant, std::span<const Operand> operands);
// A constant as a launch wants it. `tensors` is parallel to AllOperands and has the constant ones.
std::vector<std::byte> Pack(const PackedConstant& constant,
                            std::span<const model::Tensor* const> tensors);

}  // namespace quotient::kernels::cuda
