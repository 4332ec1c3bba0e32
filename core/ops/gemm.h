#pragma once

// The matrix product under Conv, ConvTranspose, MatMul and Gemm: plain and in double precision, yet
// blocked for caches and registers, vectorised and threaded, so that whole networks can be
// evaluated. Operands are read through callbacks, a piece at a time: the caller converts,
// transposes or gathers (im2col) while it reads, and nothing is ever copied as a whole.
//
// Every element is the sum over k in ascending order, multiplied and added without fusing: the
// result is that of three naive loops, bit for bit, whatever the threads and the machine.

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

// A factor of each product of the batch, m x k on the left or k x n on the right.
struct GemmOperand {
  // Which index a row has. kOuter: m (left) or n (right), and a row runs along k. kInner: a row has
  // one k and runs along m or n. So a row-major left factor is kOuter, a row-major right one
  // kInner.
  enum class Rows { kOuter, kInner };
  Rows rows = Rows::kOuter;
  // Fills `out` with the elements of `row` from `begin` on. Called from several threads.
  std::function<void(int64_t batch, int64_t row, int64_t begin, std::span<double> out)> read;
};

// Takes the elements [column, column + values.size()) of a row of the result; may change `values`
// on the way. Each element is handed over once, from any of the threads.
using GemmWrite =
    std::function<void(int64_t batch, int64_t row, int64_t column, std::span<double> values)>;

// left x right for each of the batch, on up to `threads` threads.
void Gemm(const GemmSize& size, const GemmOperand& left, const GemmOperand& right,
          const GemmWrite& write, int threads);

}  // namespace quotient::ops
