// The backend of NVIDIA GPUs has decided on every operator of the table. Lowering needs no GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/kernels/cuda/lower.h"
#include "tests/core/kernels/operator_decisions.h"

namespace quotient::kernels::cuda {
namespace {

bool RunsOnTheDevice(const KernelSpec& spec) {
  const std::vector<Program> programs = Lower(spec, MathPolicy::kTf32);
  return !programs.empty() &&
         std::none_of(programs.begin(), programs.end(),
                      [](const Program& program) { return program.name == "host"; });
}

TEST(OperatorsTest, EachHasAKernelOrAReasonToHaveNone) {
  ExpectEveryOperatorIsDecided("core/kernels/cuda/left_to_host.txt",
                               {.storage = Storage::kNative, .fuses_attention = true},
                               RunsOnTheDevice);
}

}  // namespace
}  // namespace quotient::kernels::cuda
