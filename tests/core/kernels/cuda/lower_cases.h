#pragma once

// Contractions of every kind, with every kind of epilogue, in all three floating-point types.

#include <ostream>
#include <string>
#include <vector>

#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cuda {

struct LowerCase {
  std::string name;
  std::vector<KernelSpec> (*specs)();
  friend void PrintTo(const LowerCase& printed, std::ostream* out) { *out << printed.name; }
};
std::vector<LowerCase> LowerCases();

}  // namespace quotient::kernels::cuda
