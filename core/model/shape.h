#pragma once

// Dimensions, shapes and tensor types. A dimension is a number, a symbol ("batch"), or unknown.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/dtype.h"

namespace quotient::model {

// Symbols that inference makes begin like this, and a comma parts their operands. A reader takes a
// model's own symbol that begins so, or that holds a comma, for an unknown dimension.
inline constexpr char kInferredSymbol[] = "?";

class Dim {
 public:
  Dim() = default;                          // unknown
  Dim(int64_t number) : number_(number) {}  // NOLINT: a number is a dimension; must be >= 0
  static Dim Symbol(absl::string_view name) {
    Dim dim;
    dim.symbol_ = std::string(name);
    return dim;
  }

  bool is_number() const { return number_ >= 0; }
  bool is_symbol() const { return !symbol_.empty(); }
  bool is_unknown() const { return !is_number() && !is_symbol(); }
  int64_t number() const { return number_; }             // only if is_number()
  const std::string& symbol() const { return symbol_; }  // empty unless is_symbol()

  bool Is(int64_t number) const { return number_ == number; }

  // Same description. Two unknown dimensions are equal here, yet need not be the same number: ask
  // SameDim for that.
  friend bool operator==(const Dim&, const Dim&) = default;

 private:
  int64_t number_ = -1;
  std::string symbol_;
};

// Both known and certainly the same number.
inline bool SameDim(const Dim& a, const Dim& b) { return !a.is_unknown() && a == b; }

using Shape = std::vector<Dim>;

struct TensorType {
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape;  // nothing: not even the rank is known

  TensorType() = default;
  TensorType(DType dtype_in, Shape shape_in) : dtype(dtype_in), shape(std::move(shape_in)) {}

  bool has_rank() const { return shape.has_value(); }
  int rank() const { return static_cast<int>(shape->size()); }  // only if has_rank()
  const Dim& dim(int axis) const { return (*shape)[axis]; }     // only if has_rank()
  // Element type and every dimension is a number.
  bool is_static() const;
  // The dimensions as numbers; only if is_static().
  std::vector<int64_t> dims() const;
  // Product of the dimensions, and the bytes they take; only if is_static() and the bytes are known
  // to be countable (Tensor::ByteSize). A type without elements may have dimensions of any length.
  int64_t elements() const;
  int64_t bytes() const;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// "float32[N,3,224,224]"; unknown dimensions are "?"; unknown rank is "float32[*]".
std::string ToString(const TensorType& type);
std::string ToString(const Shape& shape);
absl::StatusOr<TensorType> ParseTensorType(absl::string_view text);

// Whether the reference evaluator can hold such a value: static, and elements that are numbers.
bool IsComputable(const TensorType& type);

// Types with numbers only.
TensorType StaticType(DType dtype, std::span<const int64_t> dims);

// True if values of both types may be the same tensor: equal dtype, no two numbers that differ.
bool Compatible(const TensorType& a, const TensorType& b);
// What is known from either; a symbol gives way to a number. Only if Compatible.
TensorType Refine(const TensorType& a, const TensorType& b);

// Numpy broadcasting (ONNX "multidirectional"). A dimension that is not certain becomes unknown.
// MODEL_SHAPE if two numbers cannot be broadcast.
absl::StatusOr<Shape> Broadcast(const Shape& a, const Shape& b);

}  // namespace quotient::model
