// The loops. This file is included once per instruction set by a source file that defines
// QUOTIENT_LOOPS (the table's name) and QUOTIENT_ISA (its label) and is compiled with the flags of
// that instruction set.
//
// Code here must not call inline functions or templates of a library: the linker keeps only one
// copy of each for the whole program, perhaps the one from here, with instructions that other
// machines lack. All functions are static, so that every table has its own.

#include <math.h>

#include "core/kernels/cpu/loops.h"

#if defined(__clang__)
#define QUOTIENT_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define QUOTIENT_VECTORIZE _Pragma("GCC ivdep")
#endif

namespace quotient::kernels::cpu {
namespace {

static inline float FromBits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

// Rounds to the nearest integer by the addition of 1.5 * 2^23; |x| < 2^22.
static inline float Round(float x) { return (x + 12582912.0f) - 12582912.0f; }

// exp by range reduction to |r| <= ln2/2 and a Taylor polynomial; relative error below 2e-7.
static inline float Exp(float x) {
  const float low = x < -87.0f ? -87.0f : x;
  const float clamped = low > 88.0f ? 88.0f : low;
  const float n = Round(clamped * 1.44269504f);
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  const float p =
      1.0f +
      r * (1.0f +
           r * (0.5f + r * (1.66666672e-1f +
                            r * (4.16666679e-2f + r * (8.33333377e-3f + r * 1.38888892e-3f)))));
  const float scale = FromBits(static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23);
  const float value = p * scale;
  const float bounded = x > 88.7228f ? FromBits(0x7f800000u) : value;
  return x < -87.0f ? 0.0f : bounded;
}

static inline float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }

static inline float Tanh(float x) {
  const float a = x < 0 ? -x : x;
  const float far = 1.0f - 2.0f / (Exp(2.0f * a) + 1.0f);
  const float s = x * x;
  const float near =
      a * (1.0f + s * (-3.33333333e-1f +
                       s * (1.33333333e-1f + s * (-5.39682540e-2f + s * 2.18694885e-2f))));
  const float magnitude = a < 0.3f ? near : far;
  return x < 0 ? -magnitude : magnitude;
}

// Abramowitz and Stegun 7.1.26 away from zero, the Taylor series near it. Absolute error 2e-7.
static inline float Erf(float x) {
  const float a = x < 0 ? -x : x;
  const float t = 1.0f / (1.0f + 0.3275911f * a);
  const float p =
      t * (0.254829592f +
           t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float far = 1.0f - p * Exp(-a * a);
  const float s = a * a;
  const float near =
      a *
      (1.12837917f + s * (-3.76126389e-1f +
                          s * (1.12837917e-1f +
                               s * (-2.68661706e-2f + s * (5.22397762e-3f - s * 8.54832702e-4f)))));
  const float magnitude = a < 0.5f ? near : far;
  return x < 0 ? -magnitude : magnitude;
}

// exp(x) - 1: the Taylor series near zero, where the difference would lose digits.
static inline float Expm1(float x) {
  const float a = x < 0 ? -x : x;
  const float near =
      x *
      (1.0f +
       x * (0.5f + x * (1.66666672e-1f +
                        x * (4.16666679e-2f +
                             x * (8.33333377e-3f + x * (1.38888892e-3f + x * 1.98412701e-4f))))));
  return a < 0.35f ? near : Exp(x) - 1.0f;
}

// log(1 + x) for x in [0, 1], as 2 atanh(x / (2 + x)), whose series needs eight terms.
static inline float Log1pOfUnit(float x) {
  const float r = x / (2.0f + x);
  const float s = r * r;
  const float p =
      1.0f +
      s * (3.33333343e-1f +
           s * (0.2f +
                s * (1.42857149e-1f +
                     s * (1.11111112e-1f +
                          s * (9.09090936e-2f + s * (7.69230798e-2f + s * 6.66666701e-2f))))));
  return 2.0f * r * p;
}

static inline float Softplus(float x) {
  const float a = x < 0 ? -x : x;
  return (x > 0 ? x : 0.0f) + Log1pOfUnit(Exp(-a));
}

// x tanh(log(1 + e^x)), in which tanh is a quotient of polynomials of e^x. It is 1 beyond 20.
static inline float Mish(float x) {
  const float e = Exp(x > 20.0f ? 20.0f : x);
  const float t = e * (e + 2.0f);
  return x * (t / (t + 2.0f));
}

static inline float Celu(float x, float alpha) {
  const float below = alpha * Expm1(x / alpha);
  return (x < 0 ? 0.0f : x) + (below > 0 ? 0.0f : below);
}

static inline float Sign(float x) { return x > 0 ? 1.0f : (x < 0 ? -1.0f : x); }

static inline float GeluErf(float x) { return 0.5f * x * (1.0f + Erf(x * 0.70710678f)); }
static inline float GeluTanh(float x) {
  return 0.5f * x * (1.0f + Tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}
// These keep NaN, as ONNX's reference does.
static inline float Relu(float x) { return x < 0 ? 0 : x; }
static inline float Clip(float x, float low, float high) {
  const float a = x < low ? low : x;
  return a > high ? high : a;
}

#define QUOTIENT_UNARY(expression)    \
  {                                   \
    QUOTIENT_VECTORIZE                \
    for (int64_t i = 0; i < n; ++i) { \
      const float v = x[i];           \
      out[i] = (expression);          \
    }                                 \
    return;                           \
  }

using ops::UnaryFunction;

static void Unary(UnaryFunction fn, float alpha, float beta, const float* x, float* out,
                  int64_t n) {
  switch (fn) {
    case UnaryFunction::kNone:
      return;
    case UnaryFunction::kRelu:
      QUOTIENT_UNARY(Relu(v))
    case UnaryFunction::kLeakyRelu:
      QUOTIENT_UNARY(v < 0 ? alpha * v : v)
    case UnaryFunction::kSigmoid:
      QUOTIENT_UNARY(Sigmoid(v))
    case UnaryFunction::kTanh:
      QUOTIENT_UNARY(Tanh(v))
    case UnaryFunction::kClip:
      QUOTIENT_UNARY(Clip(v, alpha, beta))
    case UnaryFunction::kHardSigmoid:
      QUOTIENT_UNARY(Clip(alpha * v + beta, 0.0f, 1.0f))
    case UnaryFunction::kHardSwish:
      QUOTIENT_UNARY(v * Clip(v * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f))
    case UnaryFunction::kGeluErf:
      QUOTIENT_UNARY(GeluErf(v))
    case UnaryFunction::kGeluTanh:
      QUOTIENT_UNARY(GeluTanh(v))
    case UnaryFunction::kNeg:
      QUOTIENT_UNARY(-v)
    case UnaryFunction::kAbs:
      QUOTIENT_UNARY(__builtin_fabsf(v))
    case UnaryFunction::kSqrt:
      QUOTIENT_UNARY(__builtin_sqrtf(v))
    case UnaryFunction::kReciprocal:
      QUOTIENT_UNARY(1.0f / v)
    case UnaryFunction::kExp:
      QUOTIENT_UNARY(Exp(v))
    case UnaryFunction::kLog:
      QUOTIENT_UNARY(logf(v))
    case UnaryFunction::kErf:
      QUOTIENT_UNARY(Erf(v))
    case UnaryFunction::kSin:
      QUOTIENT_UNARY(sinf(v))
    case UnaryFunction::kCos:
      QUOTIENT_UNARY(cosf(v))
    case UnaryFunction::kFloor:
      QUOTIENT_UNARY(__builtin_floorf(v))
    case UnaryFunction::kCeil:
      QUOTIENT_UNARY(__builtin_ceilf(v))
    case UnaryFunction::kRound:
      QUOTIENT_UNARY(__builtin_rintf(v))
    case UnaryFunction::kSign:
      QUOTIENT_UNARY(Sign(v))
    case UnaryFunction::kTan:
      QUOTIENT_UNARY(tanf(v))
    case UnaryFunction::kAsin:
      QUOTIENT_UNARY(asinf(v))
    case UnaryFunction::kAcos:
      QUOTIENT_UNARY(acosf(v))
    case UnaryFunction::kAtan:
      QUOTIENT_UNARY(atanf(v))
    case UnaryFunction::kSinh:
      QUOTIENT_UNARY(sinhf(v))
    case UnaryFunction::kCosh:
      QUOTIENT_UNARY(coshf(v))
    case UnaryFunction::kAsinh:
      QUOTIENT_UNARY(asinhf(v))
    case UnaryFunction::kAcosh:
      QUOTIENT_UNARY(acoshf(v))
    case UnaryFunction::kAtanh:
      QUOTIENT_UNARY(atanhf(v))
    case UnaryFunction::kSoftplus:
      QUOTIENT_UNARY(Softplus(v))
    case UnaryFunction::kSoftsign:
      QUOTIENT_UNARY(v / (1.0f + __builtin_fabsf(v)))
    case UnaryFunction::kMish:
      QUOTIENT_UNARY(Mish(v))
    case UnaryFunction::kElu:
      QUOTIENT_UNARY(v < 0 ? alpha * Expm1(v) : v)
    case UnaryFunction::kCelu:
      QUOTIENT_UNARY(Celu(v, alpha))
    case UnaryFunction::kSelu:
      QUOTIENT_UNARY(beta * (v > 0 ? v : alpha * Expm1(v)))
    case UnaryFunction::kThresholdedRelu:
      QUOTIENT_UNARY(v > alpha ? v : 0.0f)
    case UnaryFunction::kSwish:
      QUOTIENT_UNARY(v * Sigmoid(alpha * v))
    case UnaryFunction::kSquare:
      QUOTIENT_UNARY(v * v)
    case UnaryFunction::kCube:
      QUOTIENT_UNARY(v * v * v)
  }
}

#define QUOTIENT_BINARY(left, right, expression) \
  {                                              \
    QUOTIENT_VECTORIZE                           \
    for (int64_t i = 0; i < n; ++i) {            \
      const float a = (left), b = (right);       \
      out[i] = (expression);                     \
    }                                            \
    return;                                      \
  }

#define QUOTIENT_BINARY_SWITCH(left, right)                      \
  switch (fn) {                                                  \
    case BinaryFn::kAdd:                                         \
      QUOTIENT_BINARY(left, right, a + b)                        \
    case BinaryFn::kSub:                                         \
      QUOTIENT_BINARY(left, right, a - b)                        \
    case BinaryFn::kMul:                                         \
      QUOTIENT_BINARY(left, right, a* b)                         \
    case BinaryFn::kDiv:                                         \
      QUOTIENT_BINARY(left, right, a / b)                        \
    case BinaryFn::kMax:                                         \
      QUOTIENT_BINARY(left, right, a != a ? a : (a > b ? a : b)) \
    case BinaryFn::kMin:                                         \
      QUOTIENT_BINARY(left, right, a != a ? a : (a < b ? a : b)) \
    case BinaryFn::kPow:                                         \
      QUOTIENT_BINARY(left, right, powf(a, b))                   \
  }

static void Binary(BinaryFn fn, const float* x, const float* y, float* out, int64_t n) {
  QUOTIENT_BINARY_SWITCH(x[i], y[i])
}
static void BinaryRight(BinaryFn fn, const float* x, float y, float* out, int64_t n) {
  QUOTIENT_BINARY_SWITCH(x[i], y)
}
static void BinaryLeft(BinaryFn fn, float x, const float* y, float* out, int64_t n) {
  QUOTIENT_BINARY_SWITCH(x, y[i])
}

static void Affine(const float* x, const float* scale, const float* shift, float* out, int64_t n) {
  QUOTIENT_VECTORIZE
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * scale[i] + shift[i];
}
static void AffineScalar(const float* x, float scale, float shift, float* out, int64_t n) {
  QUOTIENT_VECTORIZE
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * scale + shift;
}

static void ExpSum(const float* x, const float* shift, float* out, float* sum, int64_t n) {
  QUOTIENT_VECTORIZE
  for (int64_t i = 0; i < n; ++i) {
    const float value = Exp(x[i] - shift[i]);
    out[i] = value;
    sum[i] += value;
  }
}

// The compiler does not reassociate floating-point sums, so the lanes are explicit.
constexpr int kLanes = 32;

static float Sum(const float* x, int64_t n) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) lanes[k] += x[i + k];
  }
  double total = 0;
  for (int k = 0; k < kLanes; ++k) total += lanes[k];
  for (; i < n; ++i) total += x[i];
  return static_cast<float>(total);
}

static float SumSquares(const float* x, float center, int64_t n) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) {
      const float d = x[i + k] - center;
      lanes[k] += d * d;
    }
  }
  double total = 0;
  for (int k = 0; k < kLanes; ++k) total += lanes[k];
  for (; i < n; ++i) {
    const double d = x[i] - center;
    total += d * d;
  }
  return static_cast<float>(total);
}

// NaN wins, and stays.
static inline float Larger(float best, float x) { return x > best || x != x ? x : best; }

static float MaxOf(const float* x, int64_t n) {
  float lanes[kLanes];
  for (int k = 0; k < kLanes; ++k) lanes[k] = x[k < n ? k : 0];
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) lanes[k] = Larger(lanes[k], x[i + k]);
  }
  float best = lanes[0];
  for (int k = 1; k < kLanes; ++k) best = Larger(best, lanes[k]);
  for (; i < n; ++i) best = Larger(best, x[i]);
  return best;
}

// Copies whole tiles through a small square buffer in the cache, so that both sides are read and
// written in runs.
constexpr int kTile = 16;

static void TransposeTile(const uint32_t* x, int64_t x_stride, uint32_t* out, int64_t out_stride) {
  uint32_t tile[kTile][kTile];
  for (int r = 0; r < kTile; ++r) {
    for (int c = 0; c < kTile; ++c) tile[c][r] = x[r * x_stride + c];
  }
  for (int c = 0; c < kTile; ++c) {
    for (int r = 0; r < kTile; ++r) out[c * out_stride + r] = tile[c][r];
  }
}

static void Transpose32(const uint32_t* x, int64_t x_stride, uint32_t* out, int64_t out_stride,
                        int64_t rows, int64_t columns) {
  int64_t c = 0;
  for (; c + kTile <= columns; c += kTile) {
    int64_t r = 0;
    for (; r + kTile <= rows; r += kTile) {
      TransposeTile(x + r * x_stride + c, x_stride, out + c * out_stride + r, out_stride);
    }
    for (; r < rows; ++r) {
      for (int k = 0; k < kTile; ++k) out[(c + k) * out_stride + r] = x[r * x_stride + c + k];
    }
  }
  for (; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) out[c * out_stride + r] = x[r * x_stride + c];
  }
}

#undef QUOTIENT_UNARY
#undef QUOTIENT_BINARY
#undef QUOTIENT_BINARY_SWITCH

}  // namespace

const Loops QUOTIENT_LOOPS = {
    QUOTIENT_ISA, Unary,  Binary, BinaryRight, BinaryLeft, Affine,
    AffineScalar, ExpSum, Sum,    MaxOf,       SumSquares, Transpose32,
};

}  // namespace quotient::kernels::cpu
