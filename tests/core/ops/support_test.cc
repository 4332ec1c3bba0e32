// Loops over tensors against naive ones.

#include "core/ops/support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/ops/mapped_copy.h"
#include "core/ops/strided_copy.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using model::Dim;
using model::DType;
using model::Shape;
using model::Tensor;
using ::testing::ElementsAre;
using testing::IsOk;

// A tensor of these dims that holds 0, 1, 2, ...
Tensor Counting(DType dtype, const std::vector<int64_t>& dims) {
  NewTensor result(model::StaticType(dtype, dims));
  for (int64_t i = 0; i < result.tensor.elements(); ++i) {
    model::Store(dtype, result.bytes, i, std::span<const int64_t>(&i, 1));
  }
  return result.tensor;
}

TEST(BoxIndexTest, WalksInRowMajorOrderFromAnywhere) {
  const std::vector<int64_t> dims = {2, 3, 4};
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  for (int64_t start = 0; start <= 24; ++start) {
    int64_t at = start;
    for (BoxIndex i(dims, start); i.valid(); i.Next(), ++at) EXPECT_EQ(i.Offset(strides), at);
    EXPECT_EQ(at, 24);
  }
  EXPECT_FALSE(BoxIndex(std::vector<int64_t>{2, 0}).valid());
  EXPECT_TRUE(BoxIndex(std::vector<int64_t>{}).valid());
}

TEST(BroadcastReaderTest, ReadsAsIfBroadcast) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> to, from;
    const size_t rank = rng.Below(5);
    for (size_t i = 0; i < rank; ++i) {
      to.push_back(1 + static_cast<int64_t>(rng.Below(4)));
      from.push_back(rng.Below(2) == 0 ? 1 : to.back());
    }
    from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(rng.Below(rank + 1)));
    const Tensor tensor = Counting(DType::kInt32, from);
    const BroadcastReader reader(tensor, to);
    const std::vector<int64_t> strides = BroadcastStrides(from, to);
    const int64_t begin = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(Count(to))));
    std::vector<int64_t> values(static_cast<size_t>(Count(to) - begin));
    reader.Load(begin, std::span(values));
    size_t at = 0;
    for (BoxIndex i(to, begin); i.valid(); i.Next(), ++at) {
      ASSERT_EQ(values[at], i.Offset(strides)) << round;
    }
  }
}

TEST(StridedCopyTest, EqualsTheNaiveLoop) {
  Rng rng(2);
  for (int round = 0; round < 200; ++round) {
    const DType dtype = std::vector<DType>{DType::kUint8, DType::kInt16, DType::kInt32,
                                           DType::kInt64}[rng.Below(4)];
    // A slice with steps of a transposed tensor, into a slice of a larger one.
    std::vector<int64_t> dims, from_dims, to_dims, from_strides, to_offset_index;
    int64_t from_offset = 0;
    const size_t rank = rng.Below(4);
    std::vector<int64_t> steps;
    for (size_t i = 0; i < rank; ++i) {
      dims.push_back(static_cast<int64_t>(rng.Below(5)));
      steps.push_back(static_cast<int64_t>(rng.Below(5)) - 2);
      from_dims.push_back(1 + std::max<int64_t>(0, dims[i] - 1) * std::abs(steps[i]));
      to_dims.push_back(dims[i] + 2);
    }
    const std::vector<int64_t> packed = RowMajorStrides(from_dims);
    const std::vector<int64_t> to_strides = RowMajorStrides(to_dims);
    int64_t to_offset = 0;
    for (size_t i = 0; i < rank; ++i) {
      from_strides.push_back(steps[i] * packed[i]);
      if (steps[i] < 0) from_offset += (from_dims[i] - 1) * packed[i];
      to_offset += to_strides[i];
    }
    const Tensor from = Counting(dtype, from_dims);
    NewTensor to(model::StaticType(dtype, to_dims));
    NewTensor expected(model::StaticType(dtype, to_dims));
    Copy({.dims = dims,
          .from_strides = from_strides,
          .from_offset = from_offset,
          .to_strides = to_strides,
          .to_offset = to_offset},
         from.bytes(), to.bytes, ElementBytes(dtype), 2);
    for (BoxIndex i(dims); i.valid(); i.Next()) {
      const int64_t value = from.GetInt(from_offset + i.Offset(from_strides));
      model::Store(dtype, expected.bytes, to_offset + i.Offset(to_strides),
                   std::span<const int64_t>(&value, 1));
    }
    ASSERT_TRUE(model::SameContent(to.tensor, expected.tensor)) << round;
  }
}

TEST(MappedCopyTest, FollowsTheMapsAndFillsBorders) {
  const Tensor input = Counting(DType::kInt64, {2, 3});
  const std::vector<std::vector<int64_t>> maps = {{1, kBorder, 0}, {2, 2, kBorder, 0}};
  const Tensor result = MappedCopy(input, maps, Tensor::IntScalar(-7), 1);
  EXPECT_EQ(result.dims(), (std::vector<int64_t>{3, 4}));
  EXPECT_THAT(result.AsInts(), ElementsAre(5, 5, -7, 3, -7, -7, -7, -7, 2, 2, -7, 0));
}

TEST(ElementwiseTest, DoesNotDependOnThreads) {
  const Tensor a = Counting(DType::kFloat32, {37, 1, 91});
  const Tensor b = Counting(DType::kFloat32, {53, 1});
  const std::vector<const Tensor*> inputs = {&a, &b};
  const model::TensorType type =
      model::StaticType(DType::kFloat32, std::vector<int64_t>{37, 53, 91});
  const ChunkFn<double> quotient_of = [](std::span<const std::span<const double>> operands,
                                         std::span<double> out) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = operands[0][i] / (operands[1][i] + 1);
  };
  const Tensor one = EvaluateElementwise<double>(inputs, type, 1, quotient_of);
  const Tensor four = EvaluateElementwise<double>(inputs, type, 4, quotient_of);
  EXPECT_TRUE(model::SameContent(one, four));
  EXPECT_EQ(one.GetDouble(1 * 53 * 91 + 2 * 91 + 3), static_cast<float>((91 + 3) / 3.0));
}

}  // namespace
}  // namespace quotient::ops
