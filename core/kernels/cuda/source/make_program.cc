#include "core/kernels/cuda/source/programs.h"

namespace quotient::kernels::cuda {
namespace {

// The first of these that supports a spec makes its program.
constexpr std::optional<Program> (*kMakers[])(const KernelSpec&) = {
    MakeChainProgram,     MakeTypedProgram,  MakeCopyProgram,   MakeSoftmaxProgram,
    MakeNormalizeProgram, MakeReduceProgram, MakePoolProgram,   MakeGatherProgram,
    MakeScatterProgram,   MakePadProgram,    MakeResizeProgram, MakeLineProgram,
    MakeQuantizeProgram,
};

}  // namespace

std::optional<Program> MakeSourceProgram(const KernelSpec& spec) {
  for (const auto make : kMakers) {
    if (std::optional<Program> program = make(spec)) return program;
  }
  return std::nullopt;
}

}  // namespace quotient::kernels::cuda
