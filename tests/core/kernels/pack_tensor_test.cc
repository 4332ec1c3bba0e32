// Tensors in storage form, from bytes at any address.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "core/kernels/cpu/kernel.h"

namespace quotient::kernels::cpu {
namespace {

// Two channels of a row of three, channels last. Weights of a model lie at any address of its file.
TEST(PackTensorTest, BytesNeedNotBeAligned) {
  for (const model::DType dtype : {model::DType::kInt32, model::DType::kFloat32}) {
    std::vector<std::byte> file(6 * 4 + 3);
    for (size_t i = 0; i < 6; ++i) {
      const auto number = static_cast<int32_t>(i);
      const auto real = static_cast<float>(i);
      std::memcpy(&file[3 + 4 * i],
                  dtype == model::DType::kInt32 ? static_cast<const void*>(&number) : &real, 4);
    }
    const model::Tensor tensor(dtype, {1, 2, 1, 3}, std::span(file).subspan(3), nullptr);
    const auto out = std::make_unique<float[]>(6);
    PackTensor(tensor, Layout::kChannelsLast, out.get());
    const std::vector<double> expected = {0, 3, 1, 4, 2, 5};
    std::vector<double> packed;
    for (int i = 0; i < 6; ++i) {
      int32_t number;
      std::memcpy(&number, &out[i], 4);
      packed.push_back(dtype == model::DType::kInt32 ? number : static_cast<double>(out[i]));
    }
    EXPECT_EQ(packed, expected);
  }
}

}  // namespace
}  // namespace quotient::kernels::cpu
