#include "core/kernels/cuda/pack.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "core/kernels/cpu/strided.h"
#include "core/kernels/layout.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::cuda {
namespace {

using Form = PackedConstant::Form;

// Copies a value between two orders of its axes in memory.
std::vector<std::byte> Reordered(std::span<const std::byte> source,
                                 const std::vector<int64_t>& dims, const std::vector<int64_t>& from,
                                 const std::vector<int64_t>& to, int64_t item_bytes) {
  std::vector<std::byte> target(source.size());
  if (target.empty()) return target;
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < dims.size(); ++i) axes.push_back({dims[i], from[i], to[i]});
  cpu::StridedCopy(std::move(axes), item_bytes).Run(source.data(), target.data(), 1);
  return target;
}

// Strides of a packed value whose axes are in the order of `permutation`, slowest first.
std::vector<int64_t> StridesInOrder(const std::vector<int64_t>& dims,
                                    const std::vector<int>& permutation) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = 1;
  for (size_t i = permutation.size(); i-- > 0;) {
    strides[permutation[i]] = step;
    step *= dims[permutation[i]];
  }
  return strides;
}

std::vector<std::byte> Stored(model::DType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * StorageBytes(type, Storage::kNative));
  model::Store(type, bytes, 0, std::span<const double>(values));
  return bytes;
}

std::vector<std::byte> PackNorm(const PackedConstant& constant,
                                std::span<const model::Tensor* const> tensors) {
  const model::Tensor& gamma = *tensors[constant.operand];
  const model::Tensor& beta = *tensors[constant.operand + 1];
  const model::Tensor& mean = *tensors[constant.operand + 2];
  const model::Tensor& variance = *tensors[constant.operand + 3];
  std::vector<double> values(static_cast<size_t>(gamma.elements()));
  for (int64_t c = 0; c < gamma.elements(); ++c) {
    const double scale = gamma.GetDouble(c) / std::sqrt(variance.GetDouble(c) + constant.epsilon);
    values[c] =
        constant.form == Form::kNormScale ? scale : beta.GetDouble(c) - mean.GetDouble(c) * scale;
  }
  return Stored(constant.type, values);
}

}  // namespace

int64_t BytesOf(const Operand& operand) {
  if (operand.type.dtype == model::DType::kUndefined) return 0;
  return StorageBytes(operand.type, Storage::kNative);
}

std::vector<std::byte> Pack(const model::Tensor& tensor, Layout layout) {
  const std::vector<int64_t> dims = tensor.dims();
  if (SameMemory(tensor.type(), layout, Layout::kPlain)) {
    return {tensor.bytes().begin(), tensor.bytes().end()};
  }
  return Reordered(tensor.bytes(), dims, StridesOf(dims, Layout::kPlain), StridesOf(dims, layout),
                   StorageBytes(tensor.dtype(), Storage::kNative));
}

model::Tensor Unpack(const Operand& operand, std::span<const std::byte> bytes) {
  std::span<std::byte> target;
  const std::vector<int64_t> dims = operand.type.dims();
  model::Tensor tensor = model::Tensor::Allocate(operand.type.dtype, dims, &target);
  if (target.empty()) return tensor;
  const std::vector<std::byte> plain =
      Reordered(bytes, dims, StridesOf(dims, operand.layout), StridesOf(dims, Layout::kPlain),
                StorageBytes(operand.type.dtype, Storage::kNative));
  std::memcpy(target.data(), plain.data(), target.size());
  return tensor;
}

int64_t BytesOf(const PackedConstant& constant, std::span<const Operand> operands) {
  const int64_t elements = constant.form == Form::kFilled
                               ? constant.elements
                               : operands[constant.operand].type.elements();
  return elements * StorageBytes(constant.type, Storage::kNative);
}

std::vector<std::byte> Pack(const PackedConstant& constant,
                            std::span<const model::Tensor* const> tensors) {
  switch (constant.form) {
    case Form::kFilled:
      return Stored(constant.type, std::vector<double>(constant.elements, constant.value));
    case Form::kNormScale:
    case Form::kNormShift:
      return PackNorm(constant, tensors);
    case Form::kPermuted:
      break;
  }
  const model::Tensor& tensor = *tensors[constant.operand];
  std::vector<std::byte> bytes =
      Reordered(tensor.bytes(), tensor.dims(), StridesOf(tensor.dims(), Layout::kPlain),
                StridesInOrder(tensor.dims(), constant.permutation),
                StorageBytes(tensor.dtype(), Storage::kNative));
  if (constant.type == tensor.dtype()) return bytes;
  const model::Tensor packed(tensor.dtype(), {tensor.elements()}, bytes, nullptr);
  return Stored(constant.type, packed.AsDoubles());
}

}  // namespace quotient::kernels::cuda
