#include "core/model/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/checked.h"
#include "core/base/float16.h"

namespace quotient::model {
namespace {

struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};

double ToDouble(Half value) { return Float16ToFloat(value.bits); }
double ToDouble(Brain value) { return Bfloat16ToFloat(value.bits); }
template <typename T>
double ToDouble(T value) {
  return static_cast<double>(value);
}

// Converts from double like Cast: floats round once, integers truncate and saturate (ONNX leaves
// out-of-range values undefined, but in C++ they must not be), bool is "not zero".
template <typename T>
T FromDouble(double value) {
  if constexpr (std::is_same_v<T, Half>) {
    return Half{DoubleToFloat16(value)};
  } else if constexpr (std::is_same_v<T, Brain>) {
    return Brain{DoubleToBfloat16(value)};
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
      return std::numeric_limits<T>::min();
    }
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return static_cast<T>(value);
  }
}

// Integers wrap, as in ONNX Runtime and NumPy.
template <typename T>
T FromInt(int64_t value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) {
    return FromDouble<T>(static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
int64_t ToInt(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(value);
  } else {
    return FromDouble<int64_t>(ToDouble(value));
  }
}

// Calls visit(T{}) with the C++ type of a computable element type.
template <typename Visit>
void VisitType(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kFloat32:
      return visit(float{});
    case DType::kFloat64:
      return visit(double{});
    case DType::kFloat16:
      return visit(Half{});
    case DType::kBfloat16:
      return visit(Brain{});
    case DType::kInt8:
      return visit(int8_t{});
    case DType::kInt16:
      return visit(int16_t{});
    case DType::kInt32:
      return visit(int32_t{});
    case DType::kInt64:
      return visit(int64_t{});
    case DType::kUint8:
      return visit(uint8_t{});
    case DType::kUint16:
      return visit(uint16_t{});
    case DType::kUint32:
      return visit(uint32_t{});
    case DType::kUint64:
      return visit(uint64_t{});
    case DType::kBool:
      return visit(bool{});
    default:
      return;
  }
}

// Reads and writes by memcpy, because bytes of a model need not be aligned.
template <typename T>
T ReadElement(const std::byte* base, int64_t index) {
  if constexpr (std::is_same_v<T, bool>) {
    return base[index] != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, base + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
  }
}

template <typename T>
void WriteElement(std::byte* base, int64_t index, T value) {
  std::memcpy(base + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// Loads float32, which most tensors are. Compilers vectorize loops of a fixed size without -O3.
void Widen(const std::byte* from, std::span<double> out) {
  constexpr size_t kBlock = 16;
  size_t i = 0;
  for (; i + kBlock <= out.size(); i += kBlock) {
    float floats[kBlock];
    std::memcpy(floats, from + 4 * i, sizeof(floats));
    double* const to = out.data() + i;
    for (size_t k = 0; k < kBlock; ++k) to[k] = floats[k];
  }
  for (; i < out.size(); ++i) out[i] = ReadElement<float>(from, static_cast<int64_t>(i));
}

// Stores float32 in the same way.
void Narrow(std::span<const double> values, std::byte* to) {
  constexpr size_t kBlock = 16;
  size_t i = 0;
  for (; i + kBlock <= values.size(); i += kBlock) {
    const double* const from = values.data() + i;
    float floats[kBlock];
    for (size_t k = 0; k < kBlock; ++k) floats[k] = static_cast<float>(from[k]);
    std::memcpy(to + 4 * i, floats, sizeof(floats));
  }
  for (; i < values.size(); ++i) {
    WriteElement(to, static_cast<int64_t>(i), static_cast<float>(values[i]));
  }
}

template <typename Out, typename Convert>
void LoadAs(const Tensor& tensor, int64_t begin, std::span<Out> out, Convert convert) {
  const std::byte* base = tensor.bytes().data();
  VisitType(tensor.dtype(), [&]<typename T>(T) {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<Out>(convert(ReadElement<T>(base, begin + static_cast<int64_t>(i))));
    }
  });
}

}  // namespace

struct Tensor::LazyDigest {
  std::once_flag once;
  Digest digest;
};

Tensor::Tensor(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes,
               std::shared_ptr<const void> owner)
    : dtype_(dtype),
      dims_(std::move(dims)),
      elements_(CheckedProduct(dims_).value_or(0)),
      bytes_(bytes),
      owner_(std::move(owner)),
      digest_(std::make_shared<LazyDigest>()) {}

Tensor Tensor::Allocate(DType dtype, std::vector<int64_t> dims, std::span<std::byte>* bytes) {
  const int64_t size = ByteSize(dtype, dims).value_or(0);
  // Unlike new, calloc does not touch large blocks, which the system hands out as zeros.
  auto* const zeros = static_cast<std::byte*>(std::calloc(std::max<int64_t>(size, 1), 1));
  if (zeros == nullptr) throw std::bad_alloc();
  std::shared_ptr<std::byte[]> buffer(zeros, std::free);
  *bytes = std::span<std::byte>(buffer.get(), static_cast<size_t>(size));
  return Tensor(dtype, std::move(dims), *bytes, std::move(buffer));
}

template <typename T>
Tensor Tensor::Of(DType dtype, std::vector<int64_t> dims, std::span<const T> values) {
  std::span<std::byte> bytes;
  Tensor tensor = Allocate(dtype, std::move(dims), &bytes);
  // An empty span may be null, which memcpy does not accept even for no bytes.
  if (!values.empty()) {
    std::memcpy(bytes.data(), values.data(), std::min(bytes.size(), values.size_bytes()));
  }
  return tensor;
}

template Tensor Tensor::Of(DType, std::vector<int64_t>, std::span<const float>);
template Tensor Tensor::Of(DType, std::vector<int64_t>, std::span<const double>);
template Tensor Tensor::Of(DType, std::vector<int64_t>, std::span<const int8_t>);
template Tensor Tensor::Of(DType, std::vector<int64_t>, std::span<const uint8_t>);
template Tensor Tensor::Of(DType, std::vector<int64_t>, std::span<const uint16_t>);
template Tensor Tensor::Of(DType, std::vector<int64_t>, std::span<const int32_t>);
template Tensor Tensor::Of(DType, std::vector<int64_t>, std::span<const int64_t>);
template Tensor Tensor::Of(DType, std::vector<int64_t>, std::span<const bool>);

Tensor Tensor::Floats(std::vector<int64_t> dims, std::span<const float> values) {
  return Of<float>(DType::kFloat32, std::move(dims), values);
}
Tensor Tensor::Ints(std::vector<int64_t> dims, std::span<const int64_t> values) {
  return Of<int64_t>(DType::kInt64, std::move(dims), values);
}
Tensor Tensor::Scalar(float value) { return Floats({}, std::span(&value, 1)); }
Tensor Tensor::IntScalar(int64_t value) { return Ints({}, std::span(&value, 1)); }

std::optional<int64_t> Tensor::ByteSize(DType dtype, std::span<const int64_t> dims) {
  const std::optional<int64_t> elements = CheckedProduct(dims);
  if (!elements.has_value()) return std::nullopt;
  const std::optional<int64_t> bits = CheckedMul(*elements, DTypeBits(dtype));
  if (!bits.has_value()) return std::nullopt;
  return *bits / 8 + (*bits % 8 != 0 ? 1 : 0);
}

double Tensor::GetDouble(int64_t index) const {
  double value = 0;
  Load(index, std::span(&value, 1));
  return value;
}

int64_t Tensor::GetInt(int64_t index) const {
  int64_t value = 0;
  Load(index, std::span(&value, 1));
  return value;
}

void Tensor::Load(int64_t begin, std::span<double> out) const {
  if (dtype_ == DType::kFloat32) return Widen(bytes().data() + 4 * begin, out);
  LoadAs(*this, begin, out, [](auto value) { return ToDouble(value); });
}

void Tensor::Load(int64_t begin, std::span<float> out) const {
  LoadAs(*this, begin, out, [](auto value) { return ToDouble(value); });
}

void Tensor::Load(int64_t begin, std::span<int64_t> out) const {
  LoadAs(*this, begin, out, [](auto value) { return ToInt(value); });
}

std::vector<int64_t> Tensor::AsInts() const {
  std::vector<int64_t> values(elements_);
  Load(0, values);
  return values;
}

std::vector<double> Tensor::AsDoubles() const {
  std::vector<double> values(elements_);
  Load(0, values);
  return values;
}

Tensor Tensor::Reshaped(std::vector<int64_t> dims) const {
  return Tensor(dtype_, std::move(dims), bytes_, owner_);
}

const Digest& Tensor::digest() const {
  std::call_once(digest_->once, [this] {
    Digester digester;
    digester.Update(absl::StrCat(ToString(type()), ":"));
    digester.Update(bytes_);
    digest_->digest = digester.Finish();
  });
  return digest_->digest;
}

void Store(DType dtype, std::span<std::byte> buffer, int64_t begin,
           std::span<const double> values) {
  if (dtype == DType::kFloat32) return Narrow(values, buffer.data() + 4 * begin);
  VisitType(dtype, [&]<typename T>(T) {
    for (size_t i = 0; i < values.size(); ++i) {
      WriteElement<T>(buffer.data(), begin + static_cast<int64_t>(i), FromDouble<T>(values[i]));
    }
  });
}

void Store(DType dtype, std::span<std::byte> buffer, int64_t begin,
           std::span<const int64_t> values) {
  VisitType(dtype, [&]<typename T>(T) {
    for (size_t i = 0; i < values.size(); ++i) {
      WriteElement<T>(buffer.data(), begin + static_cast<int64_t>(i), FromInt<T>(values[i]));
    }
  });
}

bool SameContent(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() && a.bytes().size() == b.bytes().size() &&
         (a.bytes().data() == b.bytes().data() || a.bytes().empty() ||
          std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0);
}

std::string ElementsText(const Tensor& tensor, int64_t most) {
  if (tensor.elements() > most || !IsComputable(tensor.dtype())) {
    return absl::StrCat("digest(", tensor.digest().Hex(), ")");
  }
  if (!IsFloat(tensor.dtype())) {
    return absl::StrCat("[", absl::StrJoin(tensor.AsInts(), ", "), "]");
  }
  const auto append = [](std::string* out, double value) {
    absl::StrAppend(out, absl::StrFormat("%.17g", value));
  };
  return absl::StrCat("[", absl::StrJoin(tensor.AsDoubles(), ", ", append), "]");
}

}  // namespace quotient::model
