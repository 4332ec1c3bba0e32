#pragma once

// The inner loops of Quotient's own kernels, compiled once per instruction set and chosen at run
// time. Buffers may be equal (in place) but must not overlap otherwise.

#include <cstdint>

#include "core/ops/unary_function.h"

namespace quotient::kernels::cpu {

enum class BinaryFn : uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin, kPow };

struct Loops {
  const char* isa;

  // out[i] = fn(x[i]), where alpha and beta are the numbers of a UnaryCall (core/kernels). Of kNone
  // it does nothing.
  void (*unary)(ops::UnaryFunction fn, float alpha, float beta, const float* x, float* out,
                int64_t n);
  // out[i] = x[i] fn y[i]; in the other two one side is a single number.
  void (*binary)(BinaryFn fn, const float* x, const float* y, float* out, int64_t n);
  void (*binary_right)(BinaryFn fn, const float* x, float y, float* out, int64_t n);
  void (*binary_left)(BinaryFn fn, float x, const float* y, float* out, int64_t n);
  // out[i] = x[i] * scale[i] + shift[i]; the second takes one scale and one shift.
  void (*affine)(const float* x, const float* scale, const float* shift, float* out, int64_t n);
  void (*affine_scalar)(const float* x, float scale, float shift, float* out, int64_t n);

  // out[i] = exp(x[i] - shift[i]), which is also added to sum[i].
  void (*exp_sum)(const float* x, const float* shift, float* out, float* sum, int64_t n);

  // Sum, maximum (NaN if there is one) and sum of squares of (x - center) of n > 0 consecutive
  // numbers.
  float (*sum)(const float* x, int64_t n);
  float (*max)(const float* x, int64_t n);
  float (*sum_squares)(const float* x, float center, int64_t n);

  // out[c * out_stride + r] = x[r * x_stride + c].
  void (*transpose32)(const uint32_t* x, int64_t x_stride, uint32_t* out, int64_t out_stride,
                      int64_t rows, int64_t columns);
};

// The best loops that this machine supports. The same for the life of the process.
const Loops& BestLoops();

// One table per instruction set. Use BestLoops.
extern const Loops kLoopsBaseline;
#if defined(__x86_64__)
extern const Loops kLoopsAvx2;
extern const Loops kLoopsAvx512;
#endif

}  // namespace quotient::kernels::cpu
