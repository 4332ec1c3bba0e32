// Element-wise kernels over types other than float, or over several types: masks, indices,
// conversions. Plain loops over blocks.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "core/base/float16.h"
#include "core/kernels/cpu/block_reader.h"
#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::cpu {
namespace {

using model::DType;

constexpr int64_t kBlock = 1024;

// Calls compute(begin, count) on the blocks of the output.
template <typename Compute>
void ForBlocks(const KernelSpec& spec, const Compute& compute) {
  const int64_t total = spec.outputs[0].type.elements();
  const int64_t blocks = (total + kBlock - 1) / kBlock;
  ParallelRanges(blocks, 16, spec.threads, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      compute(block * kBlock, std::min(kBlock, total - block * kBlock));
    }
  });
}

// Out = fn(In): T -> R.
template <typename T, typename R, typename Fn>
class MapKernel : public PlainKernel {
 public:
  MapKernel(const KernelSpec& spec, Fn fn)
      : PlainKernel(spec), reader_(operands_[0], spec.outputs[0]), fn_(fn) {}

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    const auto* in = static_cast<const T*>(Data(buffers, 0));
    auto* out = static_cast<R*>(buffers.outputs[0]);
    ForBlocks(spec_, [&](int64_t begin, int64_t count) {
      T buffer[kBlock];
      const T* x = reader_.Read(in, begin, count, buffer);
      for (int64_t i = 0; i < count; ++i) out[begin + i] = fn_(x[i]);
    });
    return absl::OkStatus();
  }

 private:
  const BlockReader reader_;
  const Fn fn_;
};

// Out = fn(A, B): T x T -> R, with broadcasting.
template <typename T, typename R, typename Fn>
class ZipKernel : public PlainKernel {
 public:
  explicit ZipKernel(const KernelSpec& spec)
      : PlainKernel(spec),
        left_(operands_[0], spec.outputs[0]),
        right_(operands_[1], spec.outputs[0]) {}

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    const auto* left = static_cast<const T*>(Data(buffers, 0));
    const auto* right = static_cast<const T*>(Data(buffers, 1));
    auto* out = static_cast<R*>(buffers.outputs[0]);
    ForBlocks(spec_, [&](int64_t begin, int64_t count) {
      T left_buffer[kBlock], right_buffer[kBlock];
      const T* a = left_.Read(left, begin, count, left_buffer);
      const T* b = right_.Read(right, begin, count, right_buffer);
      for (int64_t i = 0; i < count; ++i) out[begin + i] = Fn()(a[i], b[i]);
    });
    return absl::OkStatus();
  }

 private:
  const BlockReader left_;
  const BlockReader right_;
};

// Where. T is any type of the right size.
template <typename T>
class WhereKernel : public PlainKernel {
 public:
  explicit WhereKernel(const KernelSpec& spec) : PlainKernel(spec) {
    for (int i = 0; i < 3; ++i) readers_.emplace_back(operands_[i], spec.outputs[0]);
  }

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    const auto* condition = static_cast<const uint8_t*>(Data(buffers, 0));
    const auto* yes = static_cast<const T*>(Data(buffers, 1));
    const auto* no = static_cast<const T*>(Data(buffers, 2));
    auto* out = static_cast<T*>(buffers.outputs[0]);
    ForBlocks(spec_, [&](int64_t begin, int64_t count) {
      uint8_t condition_buffer[kBlock];
      T yes_buffer[kBlock], no_buffer[kBlock];
      const uint8_t* c = readers_[0].Read(condition, begin, count, condition_buffer);
      const T* a = readers_[1].Read(yes, begin, count, yes_buffer);
      const T* b = readers_[2].Read(no, begin, count, no_buffer);
      for (int64_t i = 0; i < count; ++i) out[begin + i] = c[i] ? a[i] : b[i];
    });
    return absl::OkStatus();
  }

 private:
  std::vector<BlockReader> readers_;
};

struct And {
  uint8_t operator()(uint8_t a, uint8_t b) const { return a && b; }
};
struct Or {
  uint8_t operator()(uint8_t a, uint8_t b) const { return a || b; }
};

// Signed overflow wraps, as in the reference.
template <typename T, template <typename> typename Fn>
struct Wrapping {
  T operator()(T a, T b) const {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(Fn<U>()(static_cast<U>(a), static_cast<U>(b)));
  }
};

template <typename T>
std::unique_ptr<Kernel> MakeCompare(const KernelSpec& spec) {
  if (spec.op == "Equal") return std::make_unique<ZipKernel<T, uint8_t, std::equal_to<T>>>(spec);
  if (spec.op == "Less") return std::make_unique<ZipKernel<T, uint8_t, std::less<T>>>(spec);
  if (spec.op == "Greater") return std::make_unique<ZipKernel<T, uint8_t, std::greater<T>>>(spec);
  if (spec.op == "LessOrEqual") {
    return std::make_unique<ZipKernel<T, uint8_t, std::less_equal<T>>>(spec);
  }
  if (spec.op == "GreaterOrEqual") {
    return std::make_unique<ZipKernel<T, uint8_t, std::greater_equal<T>>>(spec);
  }
  return nullptr;
}

template <typename T>
std::unique_ptr<Kernel> MakeIntegerArithmetic(const KernelSpec& spec) {
  if (spec.op == "Add") return std::make_unique<ZipKernel<T, T, Wrapping<T, std::plus>>>(spec);
  if (spec.op == "Sub") return std::make_unique<ZipKernel<T, T, Wrapping<T, std::minus>>>(spec);
  if (spec.op == "Mul")
    return std::make_unique<ZipKernel<T, T, Wrapping<T, std::multiplies>>>(spec);
  return nullptr;
}

std::unique_ptr<Kernel> MakeZip(const KernelSpec& spec) {
  const DType dtype = spec.inputs[0].type.dtype;
  if (spec.inputs[1].type.dtype != dtype) return nullptr;
  if (dtype == DType::kBool) {
    if (spec.op == "And") return std::make_unique<ZipKernel<uint8_t, uint8_t, And>>(spec);
    if (spec.op == "Or") return std::make_unique<ZipKernel<uint8_t, uint8_t, Or>>(spec);
    return MakeCompare<uint8_t>(spec);
  }
  if (StoredAsFloat(dtype)) return MakeCompare<float>(spec);
  const bool compares = spec.outputs[0].type.dtype == DType::kBool;
  if (dtype == DType::kInt64) {
    return compares ? MakeCompare<int64_t>(spec) : MakeIntegerArithmetic<int64_t>(spec);
  }
  if (dtype == DType::kInt32) {
    return compares ? MakeCompare<int32_t>(spec) : MakeIntegerArithmetic<int32_t>(spec);
  }
  return nullptr;
}

template <typename T, typename R, typename Fn>
std::unique_ptr<Kernel> MakeMap(const KernelSpec& spec, Fn fn) {
  return std::make_unique<MapKernel<T, R, Fn>>(spec, fn);
}

// Casts to float32 storage, rounded to what `to` can hold.
template <typename T>
std::unique_ptr<Kernel> MakeCastToFloat(const KernelSpec& spec, DType to) {
  if (to == DType::kFloat16) {
    return MakeMap<T, float>(
        spec, [](T x) { return Float16ToFloat(FloatToFloat16(static_cast<float>(x))); });
  }
  if (to == DType::kBfloat16) {
    return MakeMap<T, float>(
        spec, [](T x) { return Bfloat16ToFloat(FloatToBfloat16(static_cast<float>(x))); });
  }
  return MakeMap<T, float>(spec, [](T x) { return static_cast<float>(x); });
}

template <typename T>
std::unique_ptr<Kernel> MakeCastFrom(const KernelSpec& spec) {
  const DType to = spec.outputs[0].type.dtype;
  if (StoredAsFloat(to)) return MakeCastToFloat<T>(spec, to);
  if (to == DType::kBool) return MakeMap<T, uint8_t>(spec, [](T x) -> uint8_t { return x != 0; });
  if constexpr (std::is_integral_v<T>) {
    if (to == DType::kInt64) {
      return MakeMap<T, int64_t>(spec, [](T x) { return static_cast<int64_t>(x); });
    }
    if (to == DType::kInt32) {
      return MakeMap<T, int32_t>(spec, [](T x) { return static_cast<int32_t>(x); });
    }
  }
  return nullptr;  // From float to integers: left to the reference, which handles values out of
                   // range.
}

std::unique_ptr<Kernel> MakeCast(const KernelSpec& spec) {
  switch (const DType from = spec.inputs[0].type.dtype) {
    case DType::kBool:
      return MakeCastFrom<uint8_t>(spec);
    case DType::kInt32:
      return MakeCastFrom<int32_t>(spec);
    case DType::kInt64:
      return MakeCastFrom<int64_t>(spec);
    default:
      return StoredAsFloat(from) ? MakeCastFrom<float>(spec) : nullptr;
  }
}

std::unique_ptr<Kernel> MakeIsInf(const KernelSpec& spec) {
  const bool positive = spec.attributes.GetInt("detect_positive", 1) != 0;
  const bool negative = spec.attributes.GetInt("detect_negative", 1) != 0;
  return MakeMap<float, uint8_t>(spec, [positive, negative](float x) -> uint8_t {
    return std::isinf(x) && (x > 0 ? positive : negative);
  });
}

std::unique_ptr<Kernel> MakeWhere(const KernelSpec& spec) {
  switch (StorageBytes(spec.outputs[0].type.dtype)) {
    case 1:
      return std::make_unique<WhereKernel<uint8_t>>(spec);
    case 4:
      return std::make_unique<WhereKernel<uint32_t>>(spec);
    case 8:
      return std::make_unique<WhereKernel<uint64_t>>(spec);
    default:
      return nullptr;
  }
}

}  // namespace

std::unique_ptr<Kernel> MakeTypedKernel(const KernelSpec& spec) {
  if (spec.outputs.size() != 1 || !spec.epilogue.empty()) return nullptr;
  const size_t inputs = spec.inputs.size();
  if (spec.op == "Where" && inputs == 3) return MakeWhere(spec);
  if (spec.op == "Cast" && inputs == 1) return MakeCast(spec);
  if (spec.op == "CastLike" && inputs == 2) return MakeCast(spec);
  if (spec.op == "Not" && inputs == 1) {
    return MakeMap<uint8_t, uint8_t>(spec, [](uint8_t x) -> uint8_t { return !x; });
  }
  if (spec.op == "IsNaN" && inputs == 1 && StoredAsFloat(spec.inputs[0].type.dtype)) {
    return MakeMap<float, uint8_t>(spec, [](float x) -> uint8_t { return x != x; });
  }
  if (spec.op == "IsInf" && inputs == 1 && StoredAsFloat(spec.inputs[0].type.dtype)) {
    return MakeIsInf(spec);
  }
  return inputs == 2 ? MakeZip(spec) : nullptr;
}

}  // namespace quotient::kernels::cpu
