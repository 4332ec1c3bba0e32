#include "core/verify/random_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/model/text.h"
#include "core/ops/infer_graph.h"

namespace quotient::verify {
namespace {

std::vector<model::Tensor> Draw(absl::string_view text, uint64_t seed = 0) {
  model::Graph graph = *model::ParseGraph(text);
  EXPECT_TRUE(ops::InferTypes(graph).ok());
  return RandomInputs(graph, seed);
}

TEST(RandomInputsTest, IndicesAreInRangeAlsoBehindViews) {
  const auto inputs = Draw(R"(graph g {
      input ids: int64[1,200]
      const table: float32[7,3] = random(1)
      const shape: int64[1] = [200]
      flat = Reshape(ids, shape)
      y = Gather(table, flat) {axis=0}
      output y })");
  const std::vector<int64_t> ids = inputs[0].AsInts();
  EXPECT_GE(*std::min_element(ids.begin(), ids.end()), 0);
  EXPECT_EQ(*std::max_element(ids.begin(), ids.end()), 6);
}

TEST(RandomInputsTest, TheTightestReaderCounts) {
  const auto inputs = Draw(R"(graph g {
      input ids: int64[200]
      const large: float32[50,1] = random(1)
      const small: float32[2,1] = random(1)
      a = Gather(large, ids) {axis=0}
      b = Gather(small, ids) {axis=0}
      y = Add(a, b)
      output y })");
  const std::vector<int64_t> ids = inputs[0].AsInts();
  EXPECT_EQ(*std::max_element(ids.begin(), ids.end()), 1);
}

TEST(RandomInputsTest, OtherIntegersAreMasks) {
  const auto inputs = Draw("graph g { input m: int64[100] y = Neg(m) output y }");
  const std::vector<int64_t> mask = inputs[0].AsInts();
  EXPECT_EQ(mask[0], 1);
  EXPECT_EQ(std::count(mask.begin(), mask.end(), 0) + std::count(mask.begin(), mask.end(), 1), 100);
  EXPECT_GT(std::count(mask.begin(), mask.end(), 0), 0);
}

TEST(RandomInputsTest, PositiveInFrontOfLog) {
  const auto inputs = Draw("graph g { input x: float32[100] y = Log(x) output y }");
  for (double value : inputs[0].AsDoubles()) EXPECT_GT(value, 0);
}

TEST(RandomInputsTest, SeedsDifferAndRepeat) {
  constexpr char kText[] =
      "graph g { input x: float32[4] input z: float32[4] y = Add(x, z) output y }";
  const auto a = Draw(kText, 1), b = Draw(kText, 1), c = Draw(kText, 2);
  EXPECT_TRUE(model::SameContent(a[0], b[0]));
  EXPECT_FALSE(model::SameContent(a[0], c[0]));
  EXPECT_FALSE(model::SameContent(a[0], a[1]));
}

}  // namespace
}  // namespace quotient::verify
