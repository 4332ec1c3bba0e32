#include <gtest/gtest.h>

#include "core/kernels/cuda/cuda_backend.h"

namespace quotient::kernels::cuda {
namespace {

TEST(ParseCudaDeviceTest, NamesAreRead) {
  ASSERT_TRUE(ParseCudaDevice("cuda").has_value());
  EXPECT_EQ(ParseCudaDevice("cuda")->ordinal, 0);
  EXPECT_EQ(ParseCudaDevice("cuda")->policy, MathPolicy::kTf32);
  EXPECT_EQ(ParseCudaDevice("cuda:12")->ordinal, 12);
  EXPECT_EQ(ParseCudaDevice("cuda-strict32")->policy, MathPolicy::kStrict32);
  EXPECT_EQ(ParseCudaDevice("cuda:1-strict32")->ordinal, 1);
}

TEST(ParseCudaDeviceTest, OtherNamesAreNone) {
  for (const char* const name :
       {"", "cpu", "cud", "cuda:", "cuda:-1", "cuda:01", "cuda:1x", "cuda:9999999999",
        "cuda-strict", "cuda-strict32:1", "cuda1", "cuda: 1", "cuda:+1", "Cuda"}) {
    EXPECT_FALSE(ParseCudaDevice(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace quotient::kernels::cuda
