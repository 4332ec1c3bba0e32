// Every kernel of the cases is optimized alone, repeated and run in ONNX Runtime.

#include "core/kernels/onnxruntime/timed_kernel.h"

#include <memory>
#include <set>
#include <string>

#include "core/kernels/onnxruntime/ort_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::StatusIs;

double UsOf(const Backend& backend, const KernelSpec& spec) {
  const auto kernels = backend.Compile(spec);
  EXPECT_THAT(kernels, quotient::testing::IsOk()) << KernelKey(spec);
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 5; ++round) {
    EXPECT_OK((*kernels)[0]->Run(10));
    least = std::min(least, (*kernels)[0]->reading()->us / 10);
  }
  return least;
}

KernelSpec ProductOf(int64_t size) {
  const std::vector<int64_t> dims = {size, size};
  const model::TensorType type = model::StaticType(model::DType::kFloat32, dims);
  return MakeSpec("MatMul", {}, {{type}, {type, /*constant=*/true}}, {type}, 1, 24);
}

TEST(OrtTimedKernelTest, AllKernelsOfTheCasesRun) {
  ASSERT_OK_AND_ASSIGN(const auto backend, NewBackend(kCpuDevice, 1, {}));
  std::set<std::string> seen;
  for (const GraphCase& test_case : AllGraphCases()) {
    ASSERT_OK_AND_ASSIGN(const auto groups,
                         PartitionGraph(GraphOf(test_case), backend->partition()));
    for (const KernelGroup& group : groups) {
      if (group.spec.free || !seen.insert(KernelKey(group.spec)).second) continue;
      const auto kernels = backend->Compile(group.spec);
      ASSERT_OK(kernels.status()) << KernelKey(group.spec);
      EXPECT_OK((*kernels)[0]->Run(3)) << KernelKey(group.spec);
    }
  }
  EXPECT_GT(seen.size(), 100u);
}

TEST(OrtTimedKernelTest, LargerProductsTakeLonger) {
  ASSERT_OK_AND_ASSIGN(const auto backend, NewBackend(kCpuDevice, 1, {}));
  const double small = UsOf(*backend, ProductOf(128));
  const double large = UsOf(*backend, ProductOf(512));
  EXPECT_GT(small, 0);
  EXPECT_GT(large, 10 * small);
}

TEST(OrtTimedKernelTest, WhatIsNoOperatorIsUnimplemented) {
  ASSERT_OK_AND_ASSIGN(const auto backend, NewBackend(kCpuDevice, 1, {}));
  EXPECT_THAT(backend->Compile(MakeSpec("Mystery", {}, {}, {}, 1, 0)),
              StatusIs(absl::StatusCode::kUnimplemented));
}

// Its constants take 64 MiB, so that it is timed without copies of them.
TEST(OrtTimedKernelTest, AProductWithLargeConstantsTakesLongerThanOneOfAQuarter) {
  ASSERT_OK_AND_ASSIGN(const auto backend, NewBackend(kCpuDevice, 1, {}));
  const auto product = [](int64_t columns) {
    const auto type = [](std::vector<int64_t> dims) {
      return model::StaticType(model::DType::kFloat32, dims);
    };
    return MakeSpec("MatMul", {}, {{type({16, 4096})}, {type({4096, columns}), /*constant=*/true}},
                    {type({16, columns})}, 1, 27);
  };
  const double quarter_us = UsOf(*backend, product(1024));
  EXPECT_GT(UsOf(*backend, product(4096)), 2 * quarter_us);
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
