#include "core/onnx/weights.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/checked.h"
#include "core/base/status_macros.h"
#include "core/model/dtype.h"
#include "core/onnx/errors.h"

namespace quotient::onnx {
namespace {

using model::DType;
using model::Tensor;

// Number of bits per element in raw form. 0 for strings, nullopt for an unknown element type.
std::optional<int> ElementBits(int32_t data_type) {
  switch (data_type) {
    case TensorProto::STRING:
      return 0;
    case TensorProto::FLOAT6E2M3:
    case TensorProto::FLOAT6E3M2:
      return 6;
    default:
      break;
  }
  const auto dtype = model::DTypeFromOnnx(data_type);
  if (!dtype.has_value() || model::DTypeBits(*dtype) == 0) return std::nullopt;
  return model::DTypeBits(*dtype);
}

// The typed fields of TensorProto. One of them may hold the data instead of raw_data.
enum class Field { kFloat, kInt32, kInt64, kDouble, kUint64, kString };

Field TypedField(int32_t data_type) {
  switch (data_type) {
    case TensorProto::FLOAT:
    case TensorProto::COMPLEX64:
      return Field::kFloat;
    case TensorProto::DOUBLE:
    case TensorProto::COMPLEX128:
      return Field::kDouble;
    case TensorProto::INT64:
      return Field::kInt64;
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      return Field::kUint64;
    case TensorProto::STRING:
      return Field::kString;
    default:
      return Field::kInt32;
  }
}

int64_t EntryCount(const TensorProto& tensor, Field field) {
  switch (field) {
    case Field::kFloat:
      return tensor.float_data_size();
    case Field::kInt32:
      return tensor.int32_data_size();
    case Field::kInt64:
      return tensor.int64_data_size();
    case Field::kDouble:
      return tensor.double_data_size();
    case Field::kUint64:
      return tensor.uint64_data_size();
    case Field::kString:
      return tensor.string_data_size();
  }
  return 0;
}

// Number of entries that a typed field must have. A complex number takes two entries; elements of 2
// and 4 bits share an entry as they would share a byte.
int64_t ExpectedEntries(int32_t data_type, int64_t elements, int64_t bytes) {
  switch (data_type) {
    case TensorProto::COMPLEX64:
    case TensorProto::COMPLEX128:
      return 2 * elements;
    case TensorProto::INT4:
    case TensorProto::UINT4:
    case TensorProto::FLOAT4E2M1:
    case TensorProto::INT2:
    case TensorProto::UINT2:
      return bytes;
    default:
      return elements;
  }
}

struct Size {
  int64_t elements = 0;
  int64_t bytes = 0;  // In raw form; 0 for strings.
};

absl::StatusOr<Size> SizeOf(const TensorProto& tensor, absl::string_view where,
                            const Limits& limits) {
  const auto bits = ElementBits(tensor.data_type());
  if (!bits.has_value()) {
    return Malformed(where, absl::StrCat("unknown element type ", tensor.data_type()));
  }
  if (tensor.dims_size() > limits.max_rank) {
    return ErrorAt(Reason::kLimitDims, where,
                   absl::StrCat("rank ", tensor.dims_size(), ", the limit is ", limits.max_rank));
  }
  for (int64_t dim : tensor.dims()) {
    if (dim < 0) return Malformed(where, absl::StrCat("negative dimension ", dim));
    if (dim > limits.max_dim) {
      return ErrorAt(Reason::kLimitDims, where,
                     absl::StrCat("dimension ", dim, ", the limit is ", limits.max_dim));
    }
  }
  const auto elements =
      CheckedProduct(std::span<const int64_t>(tensor.dims().data(), tensor.dims().size()));
  const auto total_bits = elements.has_value() ? CheckedMul(*elements, *bits) : std::nullopt;
  if (!total_bits.has_value()) return ErrorAt(Reason::kLimitDims, where, "its size overflows");
  Size size{*elements, *total_bits / 8 + (*total_bits % 8 != 0)};
  if (size.bytes > limits.max_tensor_bytes) {
    return ErrorAt(Reason::kLimitBytes, where,
                   absl::StrCat(size.bytes, " bytes, the limit is ", limits.max_tensor_bytes));
  }
  return size;
}

absl::Status WrongLength(absl::string_view where, absl::string_view field, int64_t is,
                         int64_t expected) {
  return Malformed(where,
                   absl::StrCat(field, " holds ", is, ", its type and dimensions need ", expected));
}

// Checks that the data is in at most one place: raw_data, an external file, or the typed field for
// the element type. Returns the number of entries in that typed field.
absl::StatusOr<int64_t> CheckFields(const TensorProto& tensor, bool has_raw_data,
                                    absl::string_view where) {
  const Field right = TypedField(tensor.data_type());
  for (Field field : {Field::kFloat, Field::kInt32, Field::kInt64, Field::kDouble, Field::kUint64,
                      Field::kString}) {
    if (EntryCount(tensor, field) == 0) continue;
    if (field != right) return Malformed(where, "its data is in a field of another type");
    if (has_raw_data) return Unsupported(where, "both raw_data and typed data");
    if (IsExternal(tensor)) return Malformed(where, "both external and inline data");
  }
  if (has_raw_data && IsExternal(tensor)) {
    return Malformed(where, "both external and inline data");
  }
  return EntryCount(tensor, right);
}

absl::string_view RawData(const TensorProto& tensor, absl::string_view set_aside) {
  return set_aside.empty() ? absl::string_view(tensor.raw_data()) : set_aside;
}

template <typename T>
void StoreAs(std::byte* out, int64_t index, T value) {
  std::memcpy(out + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// Copies the entries of the typed field, each truncated to the width of its element.
void StoreTyped(const TensorProto& tensor, int entry_bytes, std::byte* out) {
  const Field field = TypedField(tensor.data_type());
  const int64_t count = EntryCount(tensor, field);
  for (int64_t i = 0; i < count; ++i) {
    const int at = static_cast<int>(i);
    switch (field) {
      case Field::kFloat:
        StoreAs(out, i, tensor.float_data(at));
        break;
      case Field::kDouble:
        StoreAs(out, i, tensor.double_data(at));
        break;
      case Field::kInt64:
        StoreAs(out, i, tensor.int64_data(at));
        break;
      case Field::kUint64:
        if (entry_bytes == 4) {
          StoreAs(out, i, static_cast<uint32_t>(tensor.uint64_data(at)));
        } else {
          StoreAs(out, i, tensor.uint64_data(at));
        }
        break;
      case Field::kInt32: {
        const int32_t value = tensor.int32_data(at);
        if (entry_bytes == 4) {
          StoreAs(out, i, value);
        } else if (entry_bytes == 2) {
          StoreAs(out, i, static_cast<uint16_t>(value));
        } else {
          StoreAs(out, i, static_cast<uint8_t>(value));
        }
        break;
      }
      case Field::kString:
        break;
    }
  }
}

}  // namespace

absl::Status CheckTensor(const TensorProto& tensor, absl::string_view raw_data,
                         absl::string_view where, const WeightSource& source) {
  QUOTIENT_ASSIGN_OR_RETURN(const Size size, SizeOf(tensor, where, source.limits));
  if (tensor.has_segment()) return Unsupported(where, "segments of tensors");
  const bool has_raw_data = !RawData(tensor, raw_data).empty();
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t entries, CheckFields(tensor, has_raw_data, where));

  if (tensor.data_type() == TensorProto::STRING) {
    if (has_raw_data || IsExternal(tensor)) return Malformed(where, "strings in raw form");
    if (entries != size.elements) return WrongLength(where, "string_data", entries, size.elements);
    return absl::OkStatus();
  }
  if (IsExternal(tensor)) {
    QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view bytes, ExternalBytes(tensor, where, source));
    if (static_cast<int64_t>(bytes.size()) == size.bytes) return absl::OkStatus();
    return WrongLength(where, "external data", static_cast<int64_t>(bytes.size()), size.bytes);
  }
  if (has_raw_data) {
    const auto held = static_cast<int64_t>(RawData(tensor, raw_data).size());
    if (held == size.bytes) return absl::OkStatus();
    return WrongLength(where, "raw_data", held, size.bytes);
  }
  const int64_t expected = ExpectedEntries(tensor.data_type(), size.elements, size.bytes);
  if (entries == expected) return absl::OkStatus();
  return WrongLength(where, "typed data", entries, expected);
}

bool IsRepresentable(const TensorProto& tensor) {
  const auto dtype = model::DTypeFromOnnx(tensor.data_type());
  return dtype.has_value() && model::DTypeBits(*dtype) != 0;
}

Tensor ToTensor(const TensorProto& tensor, absl::string_view raw_data, const WeightSource& source) {
  const DType dtype = *model::DTypeFromOnnx(tensor.data_type());
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  absl::string_view bytes = RawData(tensor, raw_data);
  bool outlives_proto = !raw_data.empty();
  if (IsExternal(tensor)) {
    bytes = *ExternalBytes(tensor, "", source);  // Cannot fail after CheckTensor.
    outlives_proto = true;
  }
  if (outlives_proto) {
    return Tensor(dtype, std::move(dims),
                  std::as_bytes(std::span<const char>(bytes.data(), bytes.size())), source.owner);
  }
  std::span<std::byte> buffer;
  Tensor copy = Tensor::Allocate(dtype, std::move(dims), &buffer);
  if (!bytes.empty()) {
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
  } else {
    StoreTyped(tensor, std::max(model::DTypeBits(dtype) / 8, 1), buffer.data());
  }
  return copy;
}

absl::StatusOr<absl::string_view> ExternalBytes(const TensorProto& tensor, absl::string_view where,
                                                const WeightSource& source) {
  QUOTIENT_ASSIGN_OR_RETURN(const ExternalReference reference,
                            ReadExternalReference(tensor, where, source.limits));
  return ResolveReference(reference, source.files, where);
}

void ClearData(TensorProto* tensor) {
  tensor->clear_float_data();
  tensor->clear_int32_data();
  tensor->clear_int64_data();
  tensor->clear_double_data();
  tensor->clear_uint64_data();
  tensor->clear_raw_data();
  tensor->clear_external_data();
  tensor->clear_data_location();
}

void SetInlineBytes(absl::string_view bytes, TensorProto* tensor) {
  if (EntryCount(*tensor, TypedField(tensor->data_type())) > 0) return;
  ClearData(tensor);
  tensor->set_raw_data(bytes.data(), bytes.size());
}

TensorProto TensorHeader(absl::string_view name, const Tensor& tensor) {
  TensorProto header;
  header.set_name(std::string(name));
  header.set_data_type(static_cast<int32_t>(tensor.dtype()));
  for (int64_t dim : tensor.dims()) header.add_dims(dim);
  return header;
}

}  // namespace quotient::onnx
