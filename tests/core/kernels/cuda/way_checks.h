#pragma once

// Checks of the lowering: every program that a spec has is run on a GPU and compared
// with the reference evaluation.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/kernels/cuda/gpu.h"
#include "core/kernels/cuda/matmul_problem.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"

namespace quotient::kernels::cuda {

// The kernels of the graph of that text (graph_cases.h), as GPUs store values, without those that
// are free or only change a layout.
std::vector<KernelSpec> NativeSpecsOf(const std::string& body);

// The names of a spec's programs, in their order.
std::vector<std::string> ProgramNames(const KernelSpec& spec);

// Expects that each spec has programs, none of them the host's, and that each of them, by the
// library's first plan, gives what the reference does on random operands, with masks that hide keys
// too, and writes nothing behind its outputs. All run in one sequence, as the emulator compiles
// what runs together at once. A plan that the library does not have after all is left out, but not
// all of a spec's.
void ExpectEveryWayAgrees(const std::vector<KernelSpec>& specs, MathPolicy policy, Gpu& gpu);
// On the emulated GPU, whose first plans are exact ones.
void ExpectEveryWayAgrees(const std::vector<KernelSpec>& specs);

// The same of the spec's program of that name, on the emulated GPU, on those operands.
void ExpectProgramAgrees(const KernelSpec& spec, absl::string_view name,
                         const std::vector<model::Tensor>& operands);

}  // namespace quotient::kernels::cuda
