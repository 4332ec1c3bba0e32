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

// Prefix of symbols that inference makes (core/ops/dims.h); a comma separates operands of some.
// When a model is read, its own symbols that begin like this or contain a comma become unknown
// dimensions.
inline constexpr char kInferredSymbol[] = "?";

class Dim {
 public:
  Dim() = default;                          // Unknown.
  Dim(int64_t number) : number_(number) {}  // NOLINT: implicit on purpose. `number` must be >= 0.
  static Dim Symbol(absl::string_view name) {
    Dim dim;
    dim.symbol_ = std::string(name);
    return dim;
  }

  bool is_number() const { return number_ >= 0; }
  bool is_symbol() const { return !symbol_.empty(); }
  bool is_unknown() const { return !is_number() && !is_symbol(); }
  int64_t number() const { return number_; }             // Only if is_number().
  const std::string& symbol() const { return symbol_; }  // Empty unless is_symbol().

  bool Is(int64_t number) const { return number_ == number; }

  // Same description. Two unknown dimensions are equal in this sense but may be different numbers;
  // SameDim tells whether the numbers are the same.
  friend bool operator==(const Dim&, const Dim&) = default;

 private:
  int64_t number_ = -1;
  std::string symbol_;
};

// Whether both are known and certainly the same number.
inline bool SameDim(const Dim& a, const Dim& b) { return !a.is_unknown() && a == b; }

using Shape = std::vector<Dim>;

struct TensorType {
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape;  // Absent if not even the rank is known.

  TensorType() = default;
  TensorType(DType dtype_in, Shape shape_in) : dtype(dtype_in), shape(std::move(shape_in)) {}

  bool has_rank() const { return shape.has_value(); }
  int rank() const { return static_cast<int>(shape->size()); }  // Only if has_rank().
  const Dim& dim(int axis) const { return (*shape)[axis]; }     // Only if has_rank().
  // Whether the element type is known and every dimension is a number.
  bool is_static() const;
  // The dimensions as numbers. Only if is_static().
  std::vector<int64_t> dims() const;
  // The product of the dimensions, and the size in bytes. Only if is_static() and the size does not
  // overflow (Tensor::ByteSize). A type without elements may have dimensions of any length.
  int64_t elements() const;
  int64_t bytes() const;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// "float32[N,3,224,224]". An unknown dimension is "?", an unknown rank "float32[*]".
std::string ToString(const TensorType& type);
std::string ToString(const Shape& shape);
absl::StatusOr<TensorType> ParseTensorType(absl::string_view text);

// Whether the reference evaluator can hold such a value: the type is static and its elements are
// numbers.
bool IsComputable(const TensorType& type);

// A type whose dimensions are all numbers.
TensorType StaticType(DType dtype, std::span<const int64_t> dims);

// Whether a tensor can have both types: no known element types, ranks or numbers differ.
bool Compatible(const TensorType& a, const TensorType& b);
// What is known from either type; numbers replace symbols. Only if Compatible.
TensorType Refine(const TensorType& a, const TensorType& b);

// NumPy broadcasting (ONNX "multidirectional"). A dimension that is not certain becomes unknown.
// Fails with MODEL_SHAPE if two numbers cannot be broadcast.
absl::StatusOr<Shape> Broadcast(const Shape& a, const Shape& b);

}  // namespace quotient::model
