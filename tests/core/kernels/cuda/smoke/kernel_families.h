#pragma once

// The families of kernels that a GPU is tried with, as graphs from text.

#include <vector>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/matmul_problem.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cuda::smoke {

// How the floats of a kernel are stored and multiplied.
struct Arithmetic {
  const char* name;
  const char* type;
  MathPolicy policy;
  double tolerance;  // Of the norm.
};

struct Family {
  const char* name;
  const char* body;  // Of a graph's text, with TYPE for its floats.
  std::vector<Arithmetic> arithmetics;
};

// The most informative ones come first.
const std::vector<Family>& Families();

// The kernels of the family's graph, if its floats are of this type.
absl::StatusOr<std::vector<KernelSpec>> SpecsOf(const Family& family, const char* type);

}  // namespace quotient::kernels::cuda::smoke
