#pragma once

// A matrix product in cuBLASLt's form, but row-major.

#include <cstdint>

#include "core/model/dtype.h"

namespace quotient::kernels::cuda {

// How float32 products are computed. Products of 16-bit floats always use tensor cores, with
// float32 sums.
enum class MathPolicy : uint8_t { kStrict32, kTf32 };

// For each of `batch` members: D = activation(alpha A B + beta C + bias), where A is m by k, B is k
// by n, C and D are m by n; rounded once. The buffers are A, B, D, then bias (n elements) if
// has_bias, then C if has_c.
struct MatmulProblem {
  // The type of all buffers: float32, float16 or bfloat16.
  model::DType type = model::DType::kFloat32;
  MathPolicy policy = MathPolicy::kTf32;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
  // A transposed matrix is stored as its transpose, row by row.
  bool a_transposed = false;
  bool b_transposed = false;
  // Elements from one stored row to the next.
  int64_t a_row = 0;
  int64_t b_row = 0;
  int64_t d_row = 0;
  // Elements from one member of the batch to the next; 0 if all read the same one. C is laid out
  // like D.
  int64_t a_step = 0;
  int64_t b_step = 0;
  int64_t d_step = 0;
  bool has_bias = false;
  bool has_c = false;
  bool relu = false;
  float alpha = 1;
  float beta = 1;  // If there is a C.

  friend bool operator==(const MatmulProblem&, const MatmulProblem&) = default;
};

}  // namespace quotient::kernels::cuda
