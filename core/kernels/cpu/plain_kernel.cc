#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/kernels/cpu/kernel.h"
#include "core/kernels/cpu/strided.h"
#include "core/kernels/layout.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::cpu {
namespace {

// Converts between two layouts, in items of the storage type.
void Relayout(const model::TensorType& type, Layout from, Layout to, const void* source,
              void* target) {
  const std::vector<int64_t> dims = type.dims();
  const std::vector<int64_t> from_strides = StridesOf(dims, from);
  const std::vector<int64_t> to_strides = StridesOf(dims, to);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    axes.push_back({dims[i], from_strides[i], to_strides[i]});
  }
  StridedCopy(std::move(axes), StorageBytes(type.dtype)).Run(source, target, 1);
}

}  // namespace

PlainKernel::PlainKernel(const KernelSpec& spec)
    : spec_(spec), operands_(AllOperands(spec)), packed_index_(operands_.size(), -1) {
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (!operands_[i].constant) continue;
    packed_index_[i] = static_cast<int>(constants_.size());
    constants_.push_back({StorageBytes(operands_[i].type), StoredAsFloat(operands_[i].type.dtype)});
  }
}

absl::Status PlainKernel::Pack(std::span<const model::Tensor* const> operands,
                               std::span<void* const> packed) const {
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (packed_index_[i] < 0 || packed[packed_index_[i]] == nullptr) continue;
    PackTensor(*operands[i], operands_[i].layout, packed[packed_index_[i]]);
  }
  return absl::OkStatus();
}

const void* PlainKernel::Data(const KernelBuffers& buffers, size_t index) const {
  const int packed = packed_index_[index];
  return packed >= 0 ? buffers.constants[packed] : buffers.operands[index];
}

void PackTensor(const model::Tensor& tensor, Layout layout, void* out) {
  const model::TensorType type = tensor.type();
  const bool as_float = StoredAsFloat(type.dtype);
  if (layout == Layout::kPlain || SameMemory(type, layout, Layout::kPlain)) {
    if (as_float) {
      tensor.Load(0, std::span(static_cast<float*>(out), static_cast<size_t>(tensor.elements())));
    } else if (!tensor.bytes().empty()) {
      std::memcpy(out, tensor.bytes().data(), tensor.bytes().size());
    }
    return;
  }
  std::vector<float> floats;
  std::vector<std::byte> moved;
  const void* source = tensor.bytes().data();
  if (as_float) {
    floats.resize(static_cast<size_t>(tensor.elements()));
    tensor.Load(0, std::span(floats));
    source = floats.data();
  } else if (reinterpret_cast<uintptr_t>(source) % alignof(std::max_align_t) != 0) {
    // Bytes of a model need not be aligned.
    moved.assign(tensor.bytes().begin(), tensor.bytes().end());
    source = moved.data();
  }
  Relayout(type, Layout::kPlain, layout, source, out);
}

model::Tensor UnpackTensor(const Operand& operand, const void* data) {
  const model::TensorType& type = operand.type;
  std::span<std::byte> bytes;
  model::Tensor tensor = model::Tensor::Allocate(StorageType(type.dtype), type.dims(), &bytes);
  if (!bytes.empty()) Relayout(type, operand.layout, Layout::kPlain, data, bytes.data());
  if (type.dtype == StorageType(type.dtype)) return tensor;
  std::span<std::byte> rounded;
  model::Tensor result = model::Tensor::Allocate(type.dtype, type.dims(), &rounded);
  model::Store(type.dtype, rounded, 0, tensor.AsDoubles());
  return result;
}

}  // namespace quotient::kernels::cpu
