#pragma once

// The matrix product used by Conv, ConvTranspose, MatMul and Gemm. It is plain and in double
// precision, but blocked for caches and registers, vectorized and threaded, so that whole networks
// can be evaluated. Operands are read piecewise through callbacks, so the caller can convert,
// transpose or gather (im2col) while reading, and no operand is ever copied as a whole.
//
// Every element is the sum over k in ascending order, without fused multiply-add. The result equals
// that of three naive loops bit for bit, whatever the number of threads and the machine.

#include <cstdint>
#include <functional>
#include <span>

namespace quotient::ops {

struct GemmSize {
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// The left (m x k) or right (k x n) factors of all products in the batch.
struct GemmOperand {
  // Says what a row is. kOuter: the row index is m (left) or n (right), and the row runs along k.
  // kInner: the row index is k, and the row runs along m or n. So a row-major left factor is
  // kOuter, and a row-major right factor is kInner.
  enum class Rows { kOuter, kInner };
  Rows rows = Rows::kOuter;
  // Fills `out` with the elements of `row` from `begin` on. Called by several threads.
  std::function<void(int64_t batch, int64_t row, int64_t begin, std::span<double> out)> read;
};

// Receives the elements [column, column + values.size()) of a row of the result, and may modify
// `values`. Called once per element, by any of the threads.
using GemmWrite =
    std::function<void(int64_t batch, int64_t row, int64_t column, std::span<double> values)>;

// Computes left x right for each product of the batch, on up to `threads` threads.
void Gemm(const GemmSize& size, const GemmOperand& left, const GemmOperand& right,
          const GemmWrite& write, int threads);

}  // namespace quotient::ops
