// How graphs share the constants that lie on an emulated GPU.

#include "core/kernels/cuda/constant_pool.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/substitute.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/cuda/forwarding_gpu.h"
#include "tests/support/cuda/host_gpu.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

// Adds up the bytes that are copied to it.
class CountingGpu : public ForwardingGpu {
 public:
  explicit CountingGpu(int64_t* uploaded) : uploaded_(*uploaded) {}
  absl::Status Upload(DeviceAddress to, const void* from, int64_t bytes) override {
    uploaded_ += bytes;
    return ForwardingGpu::Upload(to, from, bytes);
  }

 private:
  int64_t& uploaded_;
};

TEST(CudaConstantPoolTest, GraphsShareConstantsOfTheSameContent) {
  constexpr char kGraph[] = R"(
    input x: float32[4,8]
    const w: float32[8,6] = random($0)
    y = MatMul(x, w)
    output y
  )";
  int64_t uploaded = 0;
  const auto backend = NewBackend(std::make_unique<CountingGpu>(&uploaded), CudaOptions());
  const auto compile = [&](int seed) {
    auto executable =
        backend->CompileGraph(GraphOf({"product", absl::Substitute(kGraph, seed)}), {});
    EXPECT_OK(executable);
    return *std::move(executable);
  };
  auto first = compile(1);
  const int64_t weights = uploaded;
  EXPECT_GT(weights, 0);
  const auto same = compile(1);
  EXPECT_EQ(uploaded, weights);
  const auto other = compile(2);
  EXPECT_EQ(uploaded, 2 * weights);
  // They stay as long as one of the graphs does, and are right.
  first = nullptr;
  const auto third = compile(1);
  EXPECT_EQ(uploaded, 2 * weights);
  ExpectReference(*backend, GraphOf({"product", absl::Substitute(kGraph, 1)}), 1);
}

TEST(CudaConstantPoolTest, ConstantsThatNobodyUsesAreFreed) {
  int64_t uploaded = 0;
  CountingGpu gpu(&uploaded);
  ConstantPool pool(&gpu);
  const std::vector<std::byte> bytes(100, std::byte{7});
  ASSERT_OK(pool.Get(bytes));
  ASSERT_OK_AND_ASSIGN(const auto held, pool.Get(bytes));
  EXPECT_EQ(uploaded, 200);
  ASSERT_OK_AND_ASSIGN(const auto again, pool.Get(bytes));
  EXPECT_EQ(again, held);
  EXPECT_EQ(uploaded, 200);
}

}  // namespace
}  // namespace quotient::kernels::cuda
