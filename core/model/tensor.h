#pragma once

// A constant tensor: type, dimensions and bytes that are shared, never copied. Immutable and
// thread-safe. Bytes are little-endian and packed row-major, as in TensorProto.raw_data (two 4-bit
// elements per byte, low nibble first; bool one byte each). They may lie in a buffer of somebody
// else (the model's own bytes): `owner` keeps that alive, null means the caller does.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/digest.h"
#include "core/model/dtype.h"
#include "core/model/shape.h"

namespace quotient::model {

class Tensor {
 public:
  // bytes.size() must be ByteSize(dtype, dims).
  Tensor(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes,
         std::shared_ptr<const void> owner);

  // A tensor that owns its bytes, all zero; `*bytes` may be written until the tensor is shared.
  static Tensor Allocate(DType dtype, std::vector<int64_t> dims, std::span<std::byte>* bytes);

  // Of plain values; T is the C++ type with the layout of `dtype` (float, double, int64_t,
  // bool...).
  template <typename T>
  static Tensor Of(DType dtype, std::vector<int64_t> dims, std::span<const T> values);
  static Tensor Floats(std::vector<int64_t> dims, std::span<const float> values);
  static Tensor Ints(std::vector<int64_t> dims, std::span<const int64_t> values);
  static Tensor Scalar(float value);
  static Tensor IntScalar(int64_t value);

  // Bytes for that many elements; nothing if a dimension is negative or the size overflows.
  static std::optional<int64_t> ByteSize(DType dtype, std::span<const int64_t> dims);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t elements() const { return elements_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  TensorType type() const { return StaticType(dtype_, dims_); }

  // Element `index` in row-major order, converted. Only if IsComputable(dtype()).
  double GetDouble(int64_t index) const;
  int64_t GetInt(int64_t index) const;
  // Elements [begin, begin + out.size()) converted; the fast form of the above.
  void Load(int64_t begin, std::span<double> out) const;
  void Load(int64_t begin, std::span<float> out) const;
  void Load(int64_t begin, std::span<int64_t> out) const;
  std::vector<int64_t> AsInts() const;
  std::vector<double> AsDoubles() const;

  // The same bytes under other dimensions of as many elements.
  Tensor Reshaped(std::vector<int64_t> dims) const;

  // SHA-256 of type, dims and bytes; computed at the first call, then kept. Thread-safe.
  const Digest& digest() const;

 private:
  struct LazyDigest;

  DType dtype_;
  std::vector<int64_t> dims_;
  int64_t elements_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<LazyDigest> digest_;
};

// Writes values, rounded or truncated as a Cast would, into elements [begin, begin + values.size())
// of a buffer of `dtype` elements. Only if IsComputable(dtype).
void Store(DType dtype, std::span<std::byte> buffer, int64_t begin, std::span<const double> values);
void Store(DType dtype, std::span<std::byte> buffer, int64_t begin,
           std::span<const int64_t> values);

// Same type, dims and bytes.
bool SameContent(const Tensor& a, const Tensor& b);

// The elements as the text form of graphs has them, "[0, 1.5]"; "digest(hex)" where there are more
// than `most`, and for types that are not computable.
std::string ElementsText(const Tensor& tensor, int64_t most);

}  // namespace quotient::model
