#pragma once

// The work of a kernel, computed from its spec: multiply-adds as one or more matrix products, other
// arithmetic, and bytes moved.

#include <cstdint>

#include "core/kernels/kernel_spec.h"

namespace quotient::cost {

struct Work {
  // Contractions are described as `batch` products of [m, k] by [k, n]. All zero for other kernels.
  double batch = 0;
  double m = 0;
  double n = 0;
  double k = 0;
  double operations = 0;        // Element-wise operations, epilogue included.
  double constant_bytes = 0;    // Weights read.
  double activation_bytes = 0;  // Activations read and written.
  int64_t element_bytes = 4;    // Bytes per element of the output.

  double product_flops() const { return 2 * batch * m * n * k; }
};

Work WorkOf(const kernels::KernelSpec& spec);

}  // namespace quotient::cost
