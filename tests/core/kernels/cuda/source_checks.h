#pragma once

// Checks for the generators of our GPU kernels. The emulator compiles and runs specs together, and
// their outputs are compared with the reference evaluator's.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/rng.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"

namespace quotient::kernels::cuda {

// Expects that our generators make a program with this name (any, if it is empty) for every spec,
// and that it agrees with the reference on random operands.
void ExpectSourceKernelsAgree(const std::vector<KernelSpec>& specs, absl::string_view program);

// The same for specs with given operands, which are parallel to AllOperands.
struct SpecCase {
  KernelSpec spec;
  std::vector<model::Tensor> operands;
};
void ExpectSourceKernelsAgree(const std::vector<SpecCase>& cases, absl::string_view program);

// The kernels of the graph with this text (graph_cases.h), in the layouts in which it would run,
// without free kernels.
std::vector<KernelSpec> SpecsOf(const std::string& body);

// Random dims of rank `rank`, small and mostly odd.
std::vector<int64_t> RandomDims(Rng& rng, int rank);
// A shape that broadcasts to `dims`.
std::vector<int64_t> RandomBroadcast(Rng& rng, const std::vector<int64_t>& dims);
// An operand of this type, with a random layout if it can have several.
Operand RandomOperand(Rng& rng, model::DType dtype, const std::vector<int64_t>& dims);

template <typename T>
const T& Choose(Rng& rng, const std::vector<T>& values) {
  return values[rng.Below(values.size())];
}

}  // namespace quotient::kernels::cuda
