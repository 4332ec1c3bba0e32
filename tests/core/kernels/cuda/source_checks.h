#pragma once

// Checks of the generators of our GPU kernels: specs are compiled and run together by the emulator
// and compared with the reference evaluation.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/rng.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"

namespace quotient::kernels::cuda {

// Expects that our generators take every spec, as the program of that name (any, if it is empty),
// and compute what the reference does on random operands.
void ExpectSourceKernelsAgree(const std::vector<KernelSpec>& specs, absl::string_view program);

// The same for one spec on operands that are given; parallel to AllOperands.
struct SpecCase {
  KernelSpec spec;
  std::vector<model::Tensor> operands;
};
void ExpectSourceKernelsAgree(const std::vector<SpecCase>& cases, absl::string_view program);

// The kernels of the graph of that text (graph_cases.h) in the layouts it would run in, without
// those that are free.
std::vector<KernelSpec> SpecsOf(const std::string& body);

// Random types: dimensions of rank `rank`, small and mostly odd.
std::vector<int64_t> RandomDims(Rng& rng, int rank);
// A shape that broadcasts to `dims`.
std::vector<int64_t> RandomBroadcast(Rng& rng, const std::vector<int64_t>& dims);
// An operand of a type; where it has a layout to choose, in either.
Operand RandomOperand(Rng& rng, model::DType dtype, const std::vector<int64_t>& dims);

template <typename T>
const T& Choose(Rng& rng, const std::vector<T>& values) {
  return values[rng.Below(values.size())];
}

}  // namespace quotient::kernels::cuda
