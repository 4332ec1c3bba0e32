#pragma once

// A constant tensor: type, dimensions and shared bytes. Immutable and thread-safe. Bytes are
// little-endian and packed row-major as in TensorProto.raw_data: two 4-bit elements per byte, low
// nibble first; one byte per bool. They may lie in a foreign buffer, such as the model's file;
// `owner` keeps it alive, or is null if the caller does.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/digest.h"
#include "core/model/dtype.h"
#include "core/model/shape.h"

namespace quotient::model {

class Tensor {
 public:
  // bytes.size() must be ByteSize(dtype, dims).
  Tensor(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes,
         std::shared_ptr<const void> owner);

  // A tensor that owns its bytes, all zero. `*bytes` may be written until the tensor is shared.
  static Tensor Allocate(DType dtype, std::vector<int64_t> dims, std::span<std::byte>* bytes);

  // A tensor of the given values. T is the C++ type with the layout of `dtype` (float, double,
  // int64_t, bool...).
  template <typename T>
  static Tensor Of(DType dtype, std::vector<int64_t> dims, std::span<const T> values);
  static Tensor Floats(std::vector<int64_t> dims, std::span<const float> values);
  static Tensor Ints(std::vector<int64_t> dims, std::span<const int64_t> values);
  static Tensor Scalar(float value);
  static Tensor IntScalar(int64_t value);

  // The size in bytes. Returns nullopt if a dimension is negative or the size overflows.
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
  // Converts the elements [begin, begin + out.size()) at once.
  void Load(int64_t begin, std::span<double> out) const;
  void Load(int64_t begin, std::span<float> out) const;
  void Load(int64_t begin, std::span<int64_t> out) const;
  std::vector<int64_t> AsInts() const;
  std::vector<double> AsDoubles() const;

  // The same bytes with other dimensions, which must have as many elements.
  Tensor Reshaped(std::vector<int64_t> dims) const;

  // SHA-256 of type, dims and bytes, computed by the first call. Thread-safe.
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

// Writes values into elements [begin, begin + values.size()) of a buffer of `dtype` elements,
// rounding or truncating like Cast. Only if IsComputable(dtype).
void Store(DType dtype, std::span<std::byte> buffer, int64_t begin, std::span<const double> values);
void Store(DType dtype, std::span<std::byte> buffer, int64_t begin,
           std::span<const int64_t> values);

// Whether type, dims and bytes are equal.
bool SameContent(const Tensor& a, const Tensor& b);

// The elements in the text form of graphs, such as "[0, 1.5]". "digest(hex)" if there are more than
// `most` or the type is not computable.
std::string ElementsText(const Tensor& tensor, int64_t most);

// The bytes of a tensor, as files hold them.
inline absl::string_view BytesOf(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()};
}

}  // namespace quotient::model
