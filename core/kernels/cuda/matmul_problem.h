#pragma once

// A matrix product as cuBLASLt takes it, in our row-major terms.

#include <cstdint>

#include "core/model/dtype.h"

namespace quotient::kernels::cuda {

// How float32 products are computed. Products of 16-bit floats are always computed on tensor cores
// with float32 sums.
enum class MathPolicy : uint8_t { kStrict32, kTf32 };

// For each of `batch` members: D = activation(alpha A B + beta C + bias), A m by k, B k by n, C and
// D m by n; rounded once. Buffers in order: A, B, D, then bias if has_bias (n long), then C if
// has_c.
struct MatmulProblem {
  model::DType type = model::DType::kFloat32;  // of all: float32, float16 or bfloat16
  MathPolicy policy = MathPolicy::kTf32;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
  // A transposed matrix lies as its transpose does, row by row.
  bool a_transposed = false;
  bool b_transposed = false;
  // Elements from one row, as it lies, to the next.
  int64_t a_row = 0;
  int64_t b_row = 0;
  int64_t d_row = 0;
  // Elements from one member of the batch to the next; 0: all read the same one. C lies as D.
  int64_t a_step = 0;
  int64_t b_step = 0;
  int64_t d_step = 0;
  bool has_bias = false;
  bool has_c = false;
  bool relu = false;
  float alpha = 1;
  float beta = 1;  // where there is a C

  friend bool operator==(const MatmulProblem&, const MatmulProblem&) = default;
};

}  // namespace quotient::kernels::cuda
