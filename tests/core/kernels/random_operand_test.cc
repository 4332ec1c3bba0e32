#include "core/kernels/random_operand.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace quotient::kernels {
namespace {

KernelSpec Scatter(const model::AttributeMap& attributes) {
  const auto floats = [](std::vector<int64_t> dims) {
    return Operand{model::StaticType(model::DType::kFloat32, dims)};
  };
  KernelSpec spec;
  spec.op = "ScatterND";
  spec.attributes = attributes;
  spec.inputs = {
      floats({1, 16, 3}),
      {model::StaticType(model::DType::kInt64, std::vector<int64_t>{12, 2})},
      floats({12, 3}),
  };
  spec.outputs = {floats({1, 16, 3})};
  return spec;
}

std::set<std::pair<int64_t, int64_t>> DrawTuples(const KernelSpec& spec) {
  Rng rng(1);
  const std::vector<int64_t> numbers = RandomOperand(spec, 1, rng).AsInts();
  std::set<std::pair<int64_t, int64_t>> tuples;
  for (size_t i = 0; i < numbers.size(); i += 2) tuples.emplace(numbers[i], numbers[i + 1]);
  return tuples;
}

TEST(RandomOperandTest, ScattersWriteEachBlockOnce) {
  const auto tuples = DrawTuples(Scatter({}));
  EXPECT_EQ(tuples.size(), 12u);
  for (const auto& [row, column] : tuples) {
    EXPECT_EQ(row, 0);
    EXPECT_GE(column, 0);
    EXPECT_LT(column, 16);
  }
}

TEST(RandomOperandTest, ScattersThatAddMayTakeABlockTwice) {
  EXPECT_LT(DrawTuples(Scatter({{"reduction", "add"}})).size(), 12u);
}

}  // namespace
}  // namespace quotient::kernels
