// What ONNX's own cases of the gathering operators leave out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/ops/one_node.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using ::testing::ElementsAre;
using testing::Evaluated;

// -1 stands for 2^64 - 1, the largest number.
TEST(ScatterNd, ComparesUnsignedNumbersAsSuch) {
  for (const auto& [reduction, expected] : {std::pair("max", -1), std::pair("min", 5)}) {
    const absl::StatusOr<model::Tensor> y = Evaluated(absl::StrCat(R"(
        const data: uint64[1] = [5]
        const at: int64[1,1] = [0]
        const updates: uint64[1] = [-1]
        y = ScatterND(data, at, updates) {reduction=")",
                                                                   reduction, "\"}"));
    ASSERT_OK(y);
    EXPECT_THAT(y->AsInts(), ElementsAre(expected)) << reduction;
  }
}

TEST(ScatterNd, AddsUpBlocksThatAreNamedTwice) {
  EXPECT_THAT(testing::ValuesOf(R"(
      const data: float32[2,2] = [1, 2, 3, 4]
      const at: int64[2,1] = [1, 1]
      const updates: float32[2,2] = [10, 20, 100, 200]
      y = ScatterND(data, at, updates) {reduction="add"})"),
              ElementsAre(1, 2, 113, 224));
}

}  // namespace
}  // namespace quotient::ops
