#include "core/kernels/cuda/source/prelude.h"

namespace quotient::kernels::cuda {

const char kPrelude[] = R"(
// A kernel may leave functions of the prelude unused, which is no reason for a warning.
#ifdef __CUDACC_RTC__
#pragma nv_diag_suppress 177
#endif

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
struct f16 { u16 bits; };
struct bf16 { u16 bits; };

__device__ inline float float_of_bits(u32 bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

__device__ inline u32 bits_of_float(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value);
#else
  u32 bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
#endif
}

// widen(element) is the number with which kernels compute: a float for 16-bit floats, otherwise the
// element itself.
template <typename T>
__device__ inline T widen(T value) { return value; }

__device__ inline float widen(bf16 value) { return float_of_bits((u32)value.bits << 16); }

__device__ inline float widen(f16 value) {
#ifdef __CUDA_ARCH__
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
#else
  const u32 sign = (u32)(value.bits & 0x8000u) << 16;
  const u32 exponent = value.bits >> 10 & 0x1fu;
  const u32 mantissa = value.bits & 0x3ffu;
  if (exponent == 0x1f) return float_of_bits(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
  return float_of_bits(sign | bits_of_float((float)mantissa * 5.9604644775390625e-8f));
#endif
}

// narrow<T>(number) rounds a result to the nearest element of type T. Ties go to the even one.
template <typename T>
struct Narrow {
  __device__ static T from(T value) { return value; }
};

template <>
struct Narrow<f16> {
  __device__ static f16 from(f16 value) { return value; }
  __device__ static f16 from(float value) {
    f16 result;
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
#else
    const u32 bits = bits_of_float(value);
    const u32 sign = bits >> 16 & 0x8000u;
    const u32 magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
      result.bits = (u16)(sign | 0x7e00u);
    } else if (magnitude >= 0x477ff000u) {
      result.bits = (u16)(sign | 0x7c00u);
    } else if (magnitude < 0x38800000u) {
      result.bits = (u16)(sign | (bits_of_float(float_of_bits(magnitude) + 0.5f) - 0x3f000000u));
    } else {
      result.bits = (u16)(sign | (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13);
    }
#endif
    return result;
  }
};

template <>
struct Narrow<bf16> {
  __device__ static bf16 from(bf16 value) { return value; }
  __device__ static bf16 from(float value) {
    bf16 result;
#ifdef __CUDA_ARCH__
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
#else
    const u32 bits = bits_of_float(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
      result.bits = (u16)(bits >> 16 | 0x40u);
    } else {
      result.bits = (u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    }
#endif
    return result;
  }
};

template <typename T, typename V>
__device__ inline T narrow(V value) { return Narrow<T>::from(value); }

// N adjacent elements. They are read and written at once if their address is aligned, which is not
// so for every view of another tensor.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack { T at[N]; };

// Reads the first `count` elements and leaves the others undefined.
template <int N, typename T>
__device__ inline Pack<T, N> load_pack(const T* from, int count = N) {
  if (count == N && (u64)from % sizeof(Pack<T, N>) == 0) return *(const Pack<T, N>*)from;
  Pack<T, N> pack;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    if (k < count) pack.at[k] = from[k];
  }
  return pack;
}

template <int N, typename T>
__device__ inline void store_pack(T* to, const Pack<T, N>& pack, int count = N) {
  if (count == N && (u64)to % sizeof(Pack<T, N>) == 0) {
    *(Pack<T, N>*)to = pack;
    return;
  }
#pragma unroll
  for (int k = 0; k < N; ++k) {
    if (k < count) to[k] = pack.at[k];
  }
}

template <int N, typename T>
__device__ inline Pack<T, N> splat_pack(T value) {
  Pack<T, N> pack;
#pragma unroll
  for (int k = 0; k < N; ++k) pack.at[k] = value;
  return pack;
}
)";

const char kMathPrelude[] = R"(
// The result is NaN if either operand is.
template <typename T>
__device__ inline T max_of(T a, T b) { return a > b || a != a ? a : b; }
template <typename T>
__device__ inline T min_of(T a, T b) { return a < b || a != a ? a : b; }

__device__ inline float clip(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return raised > high ? high : raised;
}
__device__ inline float relu(float x) { return x < 0 ? 0.0f : x; }
__device__ inline float leaky_relu(float x, float alpha) { return x < 0 ? alpha * x : x; }
__device__ inline float thresholded_relu(float x, float alpha) { return x > alpha ? x : 0.0f; }
__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ inline float swish(float x, float alpha) { return x * sigmoid(alpha * x); }
__device__ inline float hard_sigmoid(float x, float alpha, float beta) {
  return clip(alpha * x + beta, 0.0f, 1.0f);
}
__device__ inline float hard_swish(float x) {
  return x * clip(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f);
}
__device__ inline float gelu_erf(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
__device__ inline float gelu_tanh(float x) {
  return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}
__device__ inline float elu(float x, float alpha) { return x < 0 ? alpha * expm1f(x) : x; }
__device__ inline float celu(float x, float alpha) {
  return max_of(0.0f, x) + min_of(0.0f, alpha * expm1f(x / alpha));
}
__device__ inline float selu(float x, float alpha, float gamma) {
  return gamma * (x > 0 ? x : alpha * expm1f(x));
}
__device__ inline float softplus(float x) { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }
__device__ inline float softsign(float x) { return x / (1.0f + fabsf(x)); }
__device__ inline float mish(float x) { return x * tanhf(softplus(x)); }
__device__ inline float sign(float x) { return x != x ? x : (float)((x > 0) - (x < 0)); }
__device__ inline float floor_mod(float a, float b) {
  const float remainder = fmodf(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
__device__ inline float prelu(float x, float slope) { return x < 0 ? slope * x : x; }
)";

const char kConvertPrelude[] = R"(
template <typename T> struct IsFloat { static constexpr bool value = false; };
template <> struct IsFloat<float> { static constexpr bool value = true; };
template <> struct IsFloat<double> { static constexpr bool value = true; };

// Integers wrap. Floats are truncated, and those out of range become the lowest or largest integer.
template <typename T>
struct Convert {
  static constexpr bool is_signed = (T)-1 < (T)0;
  static constexpr T largest = is_signed ? (T)(((u64)1 << (8 * sizeof(T) - 1)) - 1) : (T)~(u64)0;
  static constexpr T lowest = is_signed ? (T)(-(i64)largest - 1) : (T)0;
  template <typename V>
  __device__ static T from(V value) {
    if (!IsFloat<V>::value) return (T)value;
    if (value != value) return 0;
    if (value <= (V)lowest) return lowest;
    if (value >= (V)largest) return largest;
    return (T)value;
  }
};
template <>
struct Convert<bool> {
  template <typename V>
  __device__ static bool from(V value) { return value != 0; }
};
template <>
struct Convert<float> {
  template <typename V>
  __device__ static float from(V value) { return (float)value; }
  __device__ static float from(u64 value) { return (float)(double)value; }
};
template <>
struct Convert<double> {
  template <typename V>
  __device__ static double from(V value) { return (double)value; }
};

// Rounds to odd: returns the float that equals the number, otherwise the one of its two neighbours
// whose last bit is set. Rounding the result to 16 bits gives the same as rounding the number itself.
__device__ inline float float_by_odd(double value) {
  const float nearest = (float)value;
  const u32 bits = bits_of_float(nearest);
  if ((double)nearest == value || value != value || (bits & 1u) != 0) return nearest;
  return float_of_bits(fabs((double)nearest) > fabs(value) ? bits - 1 : bits + 1);
}
template <typename T>
struct ConvertToNarrow {
  template <typename V>
  __device__ static T from(V value) { return narrow<T>(float_by_odd((double)value)); }
  __device__ static T from(float value) { return narrow<T>(value); }
};
template <> struct Convert<f16> : ConvertToNarrow<f16> {};
template <> struct Convert<bf16> : ConvertToNarrow<bf16> {};

template <typename T, typename V>
__device__ inline T convert(V value) { return Convert<T>::from(value); }
)";

// Two steps through shared memory are as fast as shuffles for so few values, and the same on every
// architecture.
const char kReducePrelude[] = R"(
// Combines the values of all threads of the group, always in the same order, and returns the result
// to each of them. Every thread of the block must call it.
template <typename T, typename Combine>
__device__ inline T combine_group(T value, Combine combine) {
  if (kGroup == 1) return value;
  constexpr int kLanes = kGroup < 16 ? kGroup : kGroup <= 256 ? 16 : 32;
  __shared__ T values[kBlock];
  const int lane = threadIdx.x % kGroup;
  T* const own = values + (threadIdx.x - lane);
  __syncthreads();
  own[lane] = value;
  __syncthreads();
  if (kGroup > kLanes) {
    T partial = value;
    if (lane < kLanes) {
      for (int k = lane + kLanes; k < kGroup; k += kLanes) partial = combine(partial, own[k]);
    }
    __syncthreads();
    if (lane < kLanes) own[lane] = partial;
    __syncthreads();
  }
  T total = own[0];
  for (int k = 1; k < kLanes; ++k) total = combine(total, own[k]);
  return total;
}

struct Add {
  template <typename T>
  __device__ T operator()(T a, T b) const { return a + b; }
};
struct Largest {
  template <typename T>
  __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; }
};
)";

}  // namespace quotient::kernels::cuda
