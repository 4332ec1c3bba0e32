// What contractions are lowered to, on a GPU, against the reference evaluation.

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/kernels/cuda/gpu/gpu_under_test.h"
#include "tests/core/kernels/cuda/lower_cases.h"
#include "tests/core/kernels/cuda/way_checks.h"

namespace quotient::kernels::cuda {
namespace {

// cuDNN compiles some kernels when it is asked, up to a second each: one spec of that many. No
// multiple of three, so that it is not always of the same type.
constexpr size_t kEvery = 5;

class GpuLowerTest : public GpuTest, public ::testing::WithParamInterface<LowerCase> {};

TEST_P(GpuLowerTest, EveryProgramAgreesWithTheReference) {
  const std::vector<KernelSpec> all = GetParam().specs();
  std::vector<KernelSpec> some;
  for (size_t i = 0; i < all.size(); i += kEvery) some.push_back(all[i]);
  ExpectEveryWayAgrees(some, MathPolicy::kStrict32, gpu());
}

INSTANTIATE_TEST_SUITE_P(Cases, GpuLowerTest, ::testing::ValuesIn(LowerCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace quotient::kernels::cuda
