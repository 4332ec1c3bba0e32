#pragma once

// How values are stored while kernels run.

#include <cstdint>

#include "core/model/dtype.h"
#include "core/model/shape.h"

namespace quotient::kernels {

enum class Storage : uint8_t {
  // float16, bfloat16 and float32 as 32-bit floats, everything else as it is. For CPUs, which
  // compute in single precision; results are rounded where a Cast or the end of the graph requires
  // it.
  kWide,
  // Everything as it is. For GPUs.
  kNative,
};

// Floats that kernels compute with in single precision.
inline bool StoredAsFloat(model::DType dtype) {
  return dtype == model::DType::kFloat32 || dtype == model::DType::kFloat16 ||
         dtype == model::DType::kBfloat16;
}

inline model::DType StorageType(model::DType dtype, Storage storage = Storage::kWide) {
  return storage == Storage::kWide && StoredAsFloat(dtype) ? model::DType::kFloat32 : dtype;
}

// Bytes per element; 0 for types that no kernel supports (strings, 4-bit numbers).
inline int64_t StorageBytes(model::DType dtype, Storage storage = Storage::kWide) {
  const int bits = model::DTypeBits(StorageType(dtype, storage));
  return model::IsComputable(dtype) ? bits / 8 : 0;
}

// Bytes of a static type.
inline int64_t StorageBytes(const model::TensorType& type, Storage storage = Storage::kWide) {
  return type.elements() * StorageBytes(type.dtype, storage);
}

}  // namespace quotient::kernels
