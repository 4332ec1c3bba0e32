#pragma once

// Converts between tensors and native storage, the form of values on the device
// (core/kernels/storage.h).

#include <cstddef>
#include <span>
#include <vector>

#include "core/kernels/cuda/program/program.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"

namespace quotient::kernels::cuda {

// The size of the value in native storage; 0 if it is left out.
int64_t BytesOf(const Operand& operand);

// The tensor in the operand's layout.
std::vector<std::byte> Pack(const model::Tensor& tensor, Layout layout);
// The value stored in `bytes`, whose size is BytesOf(operand).
model::Tensor Unpack(const Operand& operand, std::span<const std::byte> bytes);

// The device memory that a constant takes. `operands` is AllOperands of the spec.
int64_t BytesOf(const PackedConstant& constant, std::span<const Operand> operands);
// The constant in the form that a launch needs. `tensors` is parallel to AllOperands and has the
// constant ones.
std::vector<std::byte> Pack(const PackedConstant& constant,
                            std::span<const model::Tensor* const> tensors);

}  // namespace quotient::kernels::cuda
