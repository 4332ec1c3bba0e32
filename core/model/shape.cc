#include "core/model/shape.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::model {
namespace {

std::string DimText(const Dim& dim) {
  if (dim.is_number()) return absl::StrCat(dim.number());
  return dim.is_symbol() ? dim.symbol() : "?";
}

absl::StatusOr<Dim> ParseDim(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text == "?") return Dim();
  int64_t number;
  if (absl::SimpleAtoi(text, &number)) {
    if (number < 0) return MakeError(Reason::kModelMalformed, "negative dimension");
    return Dim(number);
  }
  if (text.empty()) return MakeError(Reason::kModelMalformed, "empty dimension");
  return Dim::Symbol(text);
}

}  // namespace

bool TensorType::is_static() const {
  return dtype != DType::kUndefined && shape.has_value() &&
         std::all_of(shape->begin(), shape->end(), [](const Dim& d) { return d.is_number(); });
}

std::vector<int64_t> TensorType::dims() const {
  std::vector<int64_t> numbers;
  numbers.reserve(shape->size());
  for (const Dim& dim : *shape) numbers.push_back(dim.number());
  return numbers;
}

int64_t TensorType::elements() const {
  if (std::any_of(shape->begin(), shape->end(), [](const Dim& d) { return d.Is(0); })) return 0;
  int64_t product = 1;
  for (const Dim& dim : *shape) product *= dim.number();
  return product;
}

int64_t TensorType::bytes() const { return (elements() * DTypeBits(dtype) + 7) / 8; }

std::string ToString(const Shape& shape) {
  return absl::StrCat(
      "[",
      absl::StrJoin(shape, ",",
                    [](std::string* out, const Dim& dim) { absl::StrAppend(out, DimText(dim)); }),
      "]");
}

std::string ToString(const TensorType& type) {
  return absl::StrCat(DTypeName(type.dtype), type.has_rank() ? ToString(*type.shape) : "[*]");
}

absl::StatusOr<TensorType> ParseTensorType(absl::string_view text) {
  const auto malformed = [&text] {
    return MakeError(Reason::kModelMalformed, absl::StrCat("not a tensor type: '", text, "'"));
  };
  const size_t open = text.find('[');
  if (open == absl::string_view::npos || text.back() != ']') return malformed();
  const std::optional<DType> dtype = DTypeFromName(text.substr(0, open));
  if (!dtype.has_value()) return malformed();
  TensorType type;
  type.dtype = *dtype;
  const absl::string_view inside = text.substr(open + 1, text.size() - open - 2);
  if (inside == "*") return type;
  type.shape.emplace();
  if (absl::StripAsciiWhitespace(inside).empty()) return type;
  for (absl::string_view piece : absl::StrSplit(inside, ',')) {
    QUOTIENT_ASSIGN_OR_RETURN(Dim dim, ParseDim(piece));
    type.shape->push_back(std::move(dim));
  }
  return type;
}

bool IsComputable(const TensorType& type) { return type.is_static() && IsComputable(type.dtype); }

TensorType StaticType(DType dtype, std::span<const int64_t> dims) {
  return TensorType(dtype, Shape(dims.begin(), dims.end()));
}

bool Compatible(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype && a.dtype != DType::kUndefined && b.dtype != DType::kUndefined) {
    return false;
  }
  if (!a.has_rank() || !b.has_rank()) return true;
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    const Dim &x = a.dim(i), &y = b.dim(i);
    if (x.is_number() && y.is_number() && x.number() != y.number()) return false;
  }
  return true;
}

TensorType Refine(const TensorType& a, const TensorType& b) {
  TensorType refined = a;
  if (refined.dtype == DType::kUndefined) refined.dtype = b.dtype;
  if (!b.has_rank()) return refined;
  if (!refined.has_rank()) {
    refined.shape = b.shape;
    return refined;
  }
  for (int i = 0; i < refined.rank(); ++i) {
    Dim& dim = (*refined.shape)[i];
    if (b.dim(i).is_number() || dim.is_unknown()) dim = b.dim(i);
  }
  return refined;
}

absl::StatusOr<Shape> Broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Dim one(1);
    const Dim& x = i < rank - a.size() ? one : a[i - (rank - a.size())];
    const Dim& y = i < rank - b.size() ? one : b[i - (rank - b.size())];
    if (x.Is(1)) {
      result[i] = y;
    } else if (y.Is(1) || SameDim(x, y)) {
      result[i] = x;
    } else if (x.is_number() && y.is_number()) {
      return MakeError(Reason::kModelShape,
                       absl::StrCat("shapes ", ToString(a), " and ", ToString(b),
                                    " cannot be broadcast together"));
    } else if (x.is_number()) {
      result[i] = x;  // The other is 1 or the same.
    } else if (y.is_number()) {
      result[i] = y;
    }
  }
  return result;
}

}  // namespace quotient::model
