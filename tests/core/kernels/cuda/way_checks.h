#pragma once

// Checks of the lowering: every program of a spec is run on a GPU and compared with the reference
// evaluator.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/cuda/interface/matmul_problem.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"

namespace quotient::kernels::cuda {

// The kernels of the graph with this text (graph_cases.h), with values stored as on GPUs, without
// kernels that are free or only change a layout.
std::vector<KernelSpec> NativeSpecsOf(const std::string& body);

// The names of a spec's programs, in order.
std::vector<std::string> ProgramNames(const KernelSpec& spec);

// Expects that each spec has programs, none of which runs on the host, and that each program, with
// the library's first plan, agrees with the reference on random operands (also with masks that hide
// keys) and writes nothing behind its outputs. All programs run in one sequence, because the
// emulator compiles kernels that run together at once. A plan that the library turns out not to
// have is skipped, but not all plans of a spec may be skipped.
void ExpectEveryWayAgrees(const std::vector<KernelSpec>& specs, MathPolicy policy, Gpu& gpu);
// The same on the emulated GPU, whose first plans are exact.
void ExpectEveryWayAgrees(const std::vector<KernelSpec>& specs);

// The same for one program of the spec, on the emulated GPU and with these operands.
void ExpectProgramAgrees(const KernelSpec& spec, absl::string_view name,
                         const std::vector<model::Tensor>& operands);

}  // namespace quotient::kernels::cuda
