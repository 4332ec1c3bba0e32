#include "core/model/dtype.h"

#include <iterator>

namespace quotient::model {
namespace {

struct Row {
  DType dtype;
  const char* name;
  int bits;
};

// In the order of the enumeration, so a type is the index of its row.
constexpr Row kRows[] = {
    {DType::kUndefined, "undefined", 0},
    {DType::kFloat32, "float32", 32},
    {DType::kUint8, "uint8", 8},
    {DType::kInt8, "int8", 8},
    {DType::kUint16, "uint16", 16},
    {DType::kInt16, "int16", 16},
    {DType::kInt32, "int32", 32},
    {DType::kInt64, "int64", 64},
    {DType::kString, "string", 0},
    {DType::kBool, "bool", 8},
    {DType::kFloat16, "float16", 16},
    {DType::kFloat64, "float64", 64},
    {DType::kUint32, "uint32", 32},
    {DType::kUint64, "uint64", 64},
    {DType::kComplex64, "complex64", 64},
    {DType::kComplex128, "complex128", 128},
    {DType::kBfloat16, "bfloat16", 16},
    {DType::kFloat8E4M3FN, "float8e4m3fn", 8},
    {DType::kFloat8E4M3FNUZ, "float8e4m3fnuz", 8},
    {DType::kFloat8E5M2, "float8e5m2", 8},
    {DType::kFloat8E5M2FNUZ, "float8e5m2fnuz", 8},
    {DType::kUint4, "uint4", 4},
    {DType::kInt4, "int4", 4},
    {DType::kFloat4E2M1, "float4e2m1", 4},
    {DType::kFloat8E8M0, "float8e8m0", 8},
    {DType::kUint2, "uint2", 2},
    {DType::kInt2, "int2", 2},
};

const Row& RowOf(DType dtype) { return kRows[static_cast<int>(dtype)]; }

}  // namespace

absl::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> DTypeFromName(absl::string_view name) {
  for (const Row& row : kRows) {
    if (name == row.name) return row.dtype;
  }
  return std::nullopt;
}

std::optional<DType> DTypeFromOnnx(int32_t number) {
  if (number < 0 || number >= static_cast<int32_t>(std::size(kRows))) return std::nullopt;
  return static_cast<DType>(number);
}

int DTypeBits(DType dtype) { return RowOf(dtype).bits; }

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBfloat16;
}

bool IsInteger(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
      return true;
    default:
      return false;
  }
}

bool IsComputable(DType dtype) {
  return IsFloat(dtype) || IsInteger(dtype) || dtype == DType::kBool;
}

}  // namespace quotient::model
