#include "core/onnx/types.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/checked.h"
#include "core/base/status_macros.h"
#include "core/onnx/errors.h"
#include "core/onnx/names.h"

namespace quotient::onnx {
namespace {

using model::Dim;
using model::DType;
using model::Shape;

// Whether a dim_param names a dimension, so that dimensions of one name have the same size.
// Exporters also write words there which say that the size is not known. Names that inference makes
// itself are not accepted, as they must not clash. Long names are not either: every value that has
// the dimension gets a copy of its name.
bool NamesADimension(absl::string_view text) {
  constexpr size_t kLongest = 128;
  constexpr absl::string_view kUnknown[] = {"*",    "-",    "any", "dynamic",   "nan",
                                            "none", "null", "unk", "undefined", "unknown"};
  const std::string name = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  double number;
  return !name.empty() && name.size() <= kLongest &&
         !absl::StartsWith(text, model::kInferredSymbol) && !absl::StrContains(text, ',') &&
         !absl::SimpleAtod(name, &number) &&
         std::find(std::begin(kUnknown), std::end(kUnknown), name) == std::end(kUnknown);
}

absl::StatusOr<Shape> ReadShape(const ::onnx::TensorShapeProto& proto, absl::string_view where,
                                const Limits& limits) {
  if (proto.dim_size() > limits.max_rank) {
    return ErrorAt(Reason::kLimitDims, where,
                   absl::StrCat("rank ", proto.dim_size(), ", the limit is ", limits.max_rank));
  }
  Shape shape;
  for (const auto& dim : proto.dim()) {
    if (dim.has_dim_param() && !dim.dim_param().empty()) {
      QUOTIENT_RETURN_IF_ERROR(CheckName(dim.dim_param(), where, limits));
      const bool is_symbol = NamesADimension(dim.dim_param());
      shape.push_back(is_symbol ? Dim::Symbol(dim.dim_param()) : Dim());
    } else if (dim.has_dim_value() && dim.dim_value() >= 0) {
      if (dim.dim_value() > limits.max_dim) {
        return ErrorAt(
            Reason::kLimitDims, where,
            absl::StrCat("dimension ", dim.dim_value(), ", the limit is ", limits.max_dim));
      }
      shape.push_back(Dim(dim.dim_value()));
    } else {
      shape.emplace_back();
    }
  }
  return shape;
}

// What the known dimensions alone take must already fit.
absl::Status CheckSize(const Shape& shape, DType dtype, absl::string_view where,
                       const Limits& limits) {
  int64_t bits = std::max(model::DTypeBits(dtype), 8);
  for (const Dim& dim : shape) {
    if (!dim.is_number()) continue;
    const auto product = CheckedMul(bits, dim.number());
    if (!product.has_value()) return ErrorAt(Reason::kLimitDims, where, "its size overflows");
    bits = *product;
  }
  if (bits / 8 <= limits.max_tensor_bytes) return absl::OkStatus();
  return ErrorAt(Reason::kLimitBytes, where,
                 absl::StrCat(bits / 8, " bytes, the limit is ", limits.max_tensor_bytes));
}

}  // namespace

absl::StatusOr<DeclaredType> ReadType(const TypeProto& type, absl::string_view where,
                                      const Limits& limits) {
  DeclaredType declared;
  if (type.value_case() == TypeProto::VALUE_NOT_SET) return declared;
  declared.computable = false;
  if (!type.has_tensor_type()) return declared;

  const auto& tensor = type.tensor_type();
  const auto dtype = model::DTypeFromOnnx(tensor.elem_type());
  if (tensor.elem_type() < 0 || tensor.elem_type() > TensorProto::DataType_MAX) {
    return Malformed(where, absl::StrCat("unknown element type ", tensor.elem_type()));
  }
  declared.type.dtype = dtype.value_or(DType::kUndefined);
  // No element type at all says nothing; inference may find it.
  declared.computable =
      tensor.elem_type() == TensorProto::UNDEFINED || model::IsComputable(declared.type.dtype);
  if (tensor.has_shape()) {
    QUOTIENT_ASSIGN_OR_RETURN(Shape shape, ReadShape(tensor.shape(), where, limits));
    QUOTIENT_RETURN_IF_ERROR(CheckSize(shape, declared.type.dtype, where, limits));
    declared.type.shape = std::move(shape);
  }
  return declared;
}

void DescribeValue(absl::string_view name, const model::TensorType& type, ValueInfoProto* info) {
  info->set_name(std::string(name));
  auto& tensor = *info->mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(type.dtype));
  tensor.mutable_shape();
  for (const Dim& dim : *type.shape) {
    auto& described = *tensor.mutable_shape()->add_dim();
    if (dim.is_number()) {
      described.set_dim_value(dim.number());
    } else if (dim.is_symbol() && !absl::StartsWith(dim.symbol(), model::kInferredSymbol)) {
      described.set_dim_param(dim.symbol());
    }
  }
}

}  // namespace quotient::onnx
