#pragma once

// What a kernel has to do, read off its spec: multiply-adds as one or more matrix products, other
// arithmetic, and bytes that move.

#include <cstdint>

#include "core/kernels/kernel_spec.h"

namespace quotient::cost {

struct Work {
  // Contractions as `batch` products of [m, k] by [k, n]; all zero for other kernels.
  double batch = 0;
  double m = 0;
  double n = 0;
  double k = 0;
  double operations = 0;        // of single elements, epilogue included
  double constant_bytes = 0;    // weights
  double activation_bytes = 0;  // read and written
  int64_t element_bytes = 4;    // of the output's elements

  double product_flops() const { return 2 * batch * m * n * k; }
};

Work WorkOf(const kernels::KernelSpec& spec);

}  // namespace quotient::cost
