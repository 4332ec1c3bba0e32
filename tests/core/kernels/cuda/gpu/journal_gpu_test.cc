// A plan that loses the GPU is not met by the next process. Loses it on purpose.

#include <gtest/gtest.h>

#include <memory>

#include "tests/core/kernels/cuda/gpu/gpu_under_test.h"
#include "tests/core/kernels/cuda/journal_checks.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

std::unique_ptr<Gpu> OpenGpu() {
  const absl::StatusOr<Plugin*> plugin = LoadPlugin("");
  if (!plugin.ok()) return nullptr;
  auto gpu = (*plugin)->OpenGpu(0, /*tf32_override=*/"", /*cache=*/nullptr);
  EXPECT_OK(gpu.status());
  return gpu.ok() ? *std::move(gpu) : nullptr;
}

using GpuJournalDeathTest = GpuTest;

TEST_F(GpuJournalDeathTest, NobodyMeetsADeadlyPlanTwice) {
  ExpectNobodyMeetsADeadlyPlanTwice(OpenGpu);
}

}  // namespace
}  // namespace quotient::kernels::cuda
