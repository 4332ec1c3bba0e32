#include "core/model/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

namespace quotient::model {
namespace {

TEST(TensorTest, StoreAndLoadEveryComputableType) {
  const std::vector<double> values = {0, 1, 2, 5};
  for (int32_t number = 1; DTypeFromOnnx(number).has_value(); ++number) {
    const DType dtype = *DTypeFromOnnx(number);
    if (!IsComputable(dtype)) continue;
    std::span<std::byte> bytes;
    const Tensor tensor = Tensor::Allocate(dtype, {2, 2}, &bytes);
    Store(dtype, bytes, 0, values);
    EXPECT_EQ(tensor.GetDouble(2), dtype == DType::kBool ? 1 : 2) << DTypeName(dtype);
    EXPECT_EQ(tensor.GetInt(1), 1) << DTypeName(dtype);
  }
}

TEST(TensorTest, FloatsAreStoredAnywhereInAnyNumber) {
  constexpr int64_t kElements = 60;
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values(kElements);
  for (int64_t i = 0; i < kElements; ++i) values[i] = 0.1 * static_cast<double>(i);
  values[3] = infinity;
  values[20] = 1e300;  // No float is as large.
  values[21] = -1e-300;
  for (const int64_t begin : {0, 1, 5}) {
    for (const size_t count : {0, 1, 15, 16, 17, 33, 55}) {
      std::vector<std::byte> bytes(kElements * sizeof(float));
      Store(DType::kFloat32, bytes, begin, std::span<const double>(values).first(count));
      std::vector<float> stored(kElements);
      std::memcpy(stored.data(), bytes.data(), bytes.size());
      for (int64_t i = 0; i < kElements; ++i) {
        const bool is_stored = i >= begin && i < begin + static_cast<int64_t>(count);
        EXPECT_EQ(stored[i], is_stored ? static_cast<float>(values[i - begin]) : 0) << i;
      }
    }
  }
}

TEST(TensorTest, FloatsLoadFromAnywhereInAnyNumber) {
  std::vector<float> floats(50);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = 0.5f * static_cast<float>(i);
  const Tensor tensor = Tensor::Floats({50}, floats);
  for (int64_t begin = 0; begin < 5; ++begin) {
    for (size_t count = 0; count <= 45; ++count) {
      std::vector<double> loaded(count);
      tensor.Load(begin, std::span(loaded));
      const auto* const from = floats.data() + begin;
      EXPECT_EQ(loaded, std::vector<double>(from, from + count)) << begin;
    }
  }
}

TEST(TensorTest, ConversionsSaturateTruncateAndWrap) {
  std::span<std::byte> bytes;
  const Tensor small = Tensor::Allocate(DType::kInt8, {4}, &bytes);
  Store(DType::kInt8, bytes, 0, std::vector<double>{300, -300, -1.9, std::nan("")});
  EXPECT_EQ(small.AsInts(), (std::vector<int64_t>{127, -128, -1, 0}));
  Store(DType::kInt8, bytes, 0, std::vector<int64_t>{300, -129, 5, 128});
  EXPECT_EQ(small.AsInts(), (std::vector<int64_t>{44, 127, 5, -128}));
}

TEST(TensorTest, HalvesAreRoundedOnceFromDouble) {
  // Rounded to float first, this would be half-way between 1 and the next half, and become 1.
  const double above_half_way = 1 + 0x1p-11 + 0x1p-40;
  std::span<std::byte> bytes;
  const Tensor half = Tensor::Allocate(DType::kFloat16, {1}, &bytes);
  Store(DType::kFloat16, bytes, 0, std::span(&above_half_way, 1));
  EXPECT_EQ(half.GetDouble(0), 1 + 0x1p-10);
}

TEST(TensorTest, LargeIntegersAreExact) {
  const int64_t big = (int64_t{1} << 60) + 1;
  const Tensor tensor = Tensor::IntScalar(big);
  EXPECT_EQ(tensor.GetInt(0), big);
}

TEST(TensorTest, SizesAreChecked) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(Tensor::ByteSize(DType::kFloat32, std::vector<int64_t>{huge, huge}), std::nullopt);
  EXPECT_EQ(Tensor::ByteSize(DType::kFloat64, std::vector<int64_t>{int64_t{1} << 60}),
            std::nullopt);
  EXPECT_EQ(Tensor::ByteSize(DType::kFloat32, std::vector<int64_t>{-1}), std::nullopt);
  EXPECT_EQ(Tensor::ByteSize(DType::kUint4, std::vector<int64_t>{5}), 3);
}

TEST(TensorTest, DigestSeesTypeDimsAndBytes) {
  const Tensor a = Tensor::Floats({2}, std::vector<float>{1, 2});
  const Tensor b = Tensor::Floats({2}, std::vector<float>{1, 2});
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_TRUE(SameContent(a, b));
  EXPECT_NE(a.digest(), a.Reshaped({2, 1}).digest());
  EXPECT_NE(a.digest(), Tensor::Floats({2}, std::vector<float>{1, 3}).digest());
  EXPECT_FALSE(SameContent(a, a.Reshaped({1, 2})));
}

TEST(TensorTest, EmptyTensors) {
  const Tensor made = Tensor::Ints({0}, {});
  const Tensor borrowed(DType::kInt64, {0}, {}, nullptr);
  EXPECT_EQ(made.elements(), 0);
  EXPECT_TRUE(made.AsInts().empty());
  EXPECT_TRUE(SameContent(made, borrowed));
  EXPECT_EQ(made.digest(), borrowed.digest());
}

TEST(TensorTest, UnalignedBytesOfSomebodyElse) {
  const auto buffer = std::make_shared<std::vector<std::byte>>(9);
  const float value = 2.5f;
  std::memcpy(buffer->data() + 1, &value, sizeof(value));
  const Tensor tensor(DType::kFloat32, {1}, std::span(buffer->data() + 1, 4), buffer);
  EXPECT_EQ(tensor.GetDouble(0), 2.5);
}

}  // namespace
}  // namespace quotient::model
