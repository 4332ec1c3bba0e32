#pragma once

// Element types. The numbers are those of onnx.TensorProto.DataType.

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace quotient::model {

enum class DType : uint8_t {
  kUndefined = 0,  // Not known, or not a tensor.
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

// "float32", "int64", ...; "undefined" for kUndefined.
absl::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(absl::string_view name);
// Returns nullopt for a number that no ONNX type has.
std::optional<DType> DTypeFromOnnx(int32_t number);

// Bits per element in raw form: 4 for kInt4; 0 for kUndefined and kString.
int DTypeBits(DType dtype);

// float16, bfloat16, float32, float64: the float types that the evaluator computes with.
bool IsFloat(DType dtype);
// int8..int64, uint8..uint64.
bool IsInteger(DType dtype);
// Types that the evaluator can read and write: floats, integers and bool.
bool IsComputable(DType dtype);

}  // namespace quotient::model
