#include "core/ops/exponential.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

// e^x = 2^n e^r, where n is the whole number next to x / ln 2 and r = x - n ln 2, which is at most
// 0.35. e^r = 1 + (r + r^2 q(r)), where q has the terms of the Taylor series up to r^13: what it
// leaves out is less than 2^-57, and as r^2 q(r) is small, so is what its rounding does. As in
// gemm.cc, the compiler's vector types are used, and nothing is fused.

namespace quotient::ops {
namespace {

// Where 2^n is a normal number, and e^x one, too. Other numbers are left to the C library.
constexpr double kLeast = -708;
constexpr double kMost = 709;

// ln 2 as a sum: n times the first part, which has 32 bits, is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
// Added to a small number, this leaves its whole part in the last bits.
constexpr double kWhole = 0x1.8p52;

// The coefficients of q, 1 / 13! to 1 / 2!.
constexpr int kTerms = 12;
constexpr double kCoefficients[kTerms] = {
    1 / 6227020800.0, 1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0, 1 / 362880.0, 1 / 40320.0,
    1 / 5040.0,       1 / 720.0,       1 / 120.0,      1 / 24.0,      1 / 6.0,      1 / 2.0};
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
constexpr int kMantissaBits = 52;

// Numbers that are computed by one call.
constexpr int kChunk = 64;

// Sets y to the exponentials of the kChunk numbers x, by vectors of `bytes` bytes. Returns whether
// all of x are in [kLeast, kMost]; the others' exponentials are wrong.
template <int bytes>
[[gnu::always_inline]] inline bool ExponentiateChunk(const double* x, double* y) {
  typedef double Vector __attribute__((vector_size(bytes), aligned(8), may_alias));
  typedef int64_t Mask __attribute__((vector_size(bytes), aligned(8), may_alias));
  typedef uint64_t Bits __attribute__((vector_size(bytes), aligned(8), may_alias));
  constexpr int kLanes = bytes / sizeof(double);
  Mask ordinary = Mask{} - 1;
  for (int i = 0; i < kChunk; i += kLanes) {
    const Vector number = *reinterpret_cast<const Vector*>(x + i);
    ordinary &= (number >= kLeast) & (number <= kMost);
    const Vector shifted = number * kInverseLn2 + kWhole;
    const Vector n = shifted - kWhole;
    const Vector r = (number - n * kLn2High) - n * kLn2Low;
    Vector q = Vector{} + kCoefficients[0];
#pragma GCC unroll 16
    for (int k = 1; k < kTerms; ++k) q = q * r + kCoefficients[k];
    const Vector power = 1 + (r + r * r * q);
    // Adds n to the exponent, without a sign, so that it may wrap around.
    *reinterpret_cast<Bits*>(y + i) =
        reinterpret_cast<Bits>(power) + (reinterpret_cast<Bits>(shifted) << kMantissaBits);
  }
  int64_t lanes[kLanes];
  std::memcpy(lanes, &ordinary, sizeof(lanes));
  return std::ranges::all_of(lanes, [](int64_t lane) { return lane != 0; });
}

using ChunkKernel = bool (*)(const double* x, double* y);

bool ExponentiateChunkPortable(const double* x, double* y) { return ExponentiateChunk<16>(x, y); }

#ifdef __x86_64__
// AVX2 without FMA, as in gemm.cc.
__attribute__((target("avx2"))) bool ExponentiateChunkAvx2(const double* x, double* y) {
  return ExponentiateChunk<32>(x, y);
}
#endif

ChunkKernel ChooseKernel() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return ExponentiateChunkAvx2;
#endif
  return ExponentiateChunkPortable;
}

}  // namespace

void ExponentialsOf(std::span<double> values) {
  static const ChunkKernel kernel = ChooseKernel();
  for (size_t begin = 0; begin < values.size(); begin += kChunk) {
    const std::span<double> part =
        values.subspan(begin, std::min<size_t>(kChunk, values.size() - begin));
    double x[kChunk] = {}, y[kChunk];
    std::ranges::copy(part, x);
    const bool all_ordinary = kernel(x, y);
    std::copy_n(y, part.size(), part.begin());
    if (all_ordinary) continue;
    for (size_t i = 0; i < part.size(); ++i) {
      if (!(x[i] >= kLeast && x[i] <= kMost)) part[i] = std::exp(x[i]);
    }
  }
}

}  // namespace quotient::ops
