// QuantizeLinear and DequantizeLinear of float32, in blocks that compilers vectorize.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>

#include "core/kernels/cpu/block_reader.h"
#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/quantize_steps.h"

namespace quotient::kernels::cpu {
namespace {

using model::DType;

constexpr int64_t kBlock = 1024;
// Adding this to a float of at most 2^22 in size and subtracting it again rounds half to even.
constexpr float kRounder = 0x1.8p23F;

// Out = fn(x, scale, zero point). Z is the type of the zero point.
template <typename X, typename Z, typename R, typename Fn>
class StepsKernel : public PlainKernel {
 public:
  explicit StepsKernel(const KernelSpec& spec)
      : PlainKernel(spec),
        x_(operands_[0], spec.outputs[0]),
        scale_(BroadcastSteps(spec, 1), spec.outputs[0]) {
    if (HasZeroPoint(spec)) zero_point_.emplace(BroadcastSteps(spec, 2), spec.outputs[0]);
  }

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    const int64_t total = spec_.outputs[0].type.elements();
    const int64_t blocks = (total + kBlock - 1) / kBlock;
    ParallelRanges(blocks, 16, spec_.threads, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) {
        RunBlock(buffers, block * kBlock, std::min(kBlock, total - block * kBlock));
      }
    });
    return absl::OkStatus();
  }

 private:
  void RunBlock(const KernelBuffers& buffers, int64_t begin, int64_t count) const {
    X x_buffer[kBlock];
    float scale_buffer[kBlock];
    Z zero_buffer[kBlock] = {};
    const X* x = x_.Read(static_cast<const X*>(Data(buffers, 0)), begin, count, x_buffer);
    const float* scale =
        scale_.Read(static_cast<const float*>(Data(buffers, 1)), begin, count, scale_buffer);
    const Z* zero = zero_buffer;
    if (zero_point_.has_value()) {
      zero = zero_point_->Read(static_cast<const Z*>(Data(buffers, 2)), begin, count, zero_buffer);
    }
    R* const out = static_cast<R*>(buffers.outputs[0]) + begin;
    for (int64_t i = 0; i < count; ++i) out[i] = Fn()(x[i], scale[i], zero[i]);
  }

  const BlockReader x_;
  const BlockReader scale_;
  std::optional<BlockReader> zero_point_;
};

// Limits before it rounds, which gives the same because the limits are whole numbers. NaN becomes
// the lowest number.
template <typename T>
struct Quantize {
  T operator()(float x, float scale, T zero_point) const {
    const auto zero = static_cast<float>(zero_point);
    const float low = static_cast<float>(std::numeric_limits<T>::min()) - zero;
    const float high = static_cast<float>(std::numeric_limits<T>::max()) - zero;
    float steps = x / scale;
    steps = steps > low ? steps : low;
    steps = steps < high ? steps : high;
    const float rounded = (steps + kRounder) - kRounder;
    return static_cast<T>(static_cast<int32_t>(rounded) + static_cast<int32_t>(zero_point));
  }
};

template <typename T>
struct Dequantize {
  float operator()(T x, float scale, T zero_point) const {
    using Wide = std::conditional_t<sizeof(T) < 4, int32_t, int64_t>;
    return static_cast<float>(static_cast<Wide>(x) - static_cast<Wide>(zero_point)) * scale;
  }
};

template <typename T>
std::unique_ptr<Kernel> MakeQuantize(const KernelSpec& spec) {
  return std::make_unique<StepsKernel<float, T, T, Quantize<T>>>(spec);
}

template <typename T>
std::unique_ptr<Kernel> MakeDequantize(const KernelSpec& spec) {
  return std::make_unique<StepsKernel<T, T, float, Dequantize<T>>>(spec);
}

std::unique_ptr<Kernel> MakeFor(const KernelSpec& spec, bool quantizes, DType steps) {
  switch (steps) {
    case DType::kInt8:
      return quantizes ? MakeQuantize<int8_t>(spec) : MakeDequantize<int8_t>(spec);
    case DType::kUint8:
      return quantizes ? MakeQuantize<uint8_t>(spec) : MakeDequantize<uint8_t>(spec);
    case DType::kInt16:
      return quantizes ? MakeQuantize<int16_t>(spec) : MakeDequantize<int16_t>(spec);
    case DType::kUint16:
      return quantizes ? MakeQuantize<uint16_t>(spec) : MakeDequantize<uint16_t>(spec);
    case DType::kInt32:
      return quantizes ? nullptr : MakeDequantize<int32_t>(spec);
    default:
      return nullptr;
  }
}

}  // namespace

std::unique_ptr<Kernel> MakeQuantizeKernel(const KernelSpec& spec) {
  const bool quantizes = spec.op == "QuantizeLinear";
  if ((!quantizes && spec.op != "DequantizeLinear") || !spec.epilogue.empty()) return nullptr;
  const Operand& floats = quantizes ? spec.inputs[0] : spec.outputs[0];
  const Operand& steps = quantizes ? spec.outputs[0] : spec.inputs[0];
  if (floats.type.dtype != DType::kFloat32 || spec.inputs[1].type.dtype != DType::kFloat32) {
    return nullptr;
  }
  return MakeFor(spec, quantizes, steps.type.dtype);
}

}  // namespace quotient::kernels::cpu
