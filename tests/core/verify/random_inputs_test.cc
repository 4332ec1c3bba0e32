#include "core/verify/random_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "core/model/text.h"
#include "core/ops/infer_graph.h"

namespace quotient::verify {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::Lt;

model::Graph Inferred(absl::string_view text) {
  model::Graph graph = *model::ParseGraph(text);
  EXPECT_TRUE(ops::InferTypes(graph).ok());
  return graph;
}

std::vector<model::Tensor> Draw(absl::string_view text, uint64_t seed = 0) {
  return RandomInputs(Inferred(text), seed);
}

// By the widest draw there is for the graph.
std::vector<model::Tensor> DrawWide(absl::string_view text) {
  const model::Graph graph = Inferred(text);
  return RandomInputs(graph, 0, WideDraws(graph)[0]);
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

// ONNX does not say what remains of two that are the same.
TEST(RandomInputsTest, ScattersWriteEachBlockOnce) {
  const auto inputs = Draw(R"(graph g {
      input at: int32[2,6,2]
      input x: float32[1,16,3]
      input u: float32[12,3]
      const shape: int64[2] = [12,2]
      wide = Cast(at) {to=7}
      tuples = Reshape(wide, shape)
      y = ScatterND(x, tuples, u)
      output y })");
  const std::vector<int64_t> at = inputs[0].AsInts();
  std::set<std::pair<int64_t, int64_t>> tuples;
  for (size_t i = 0; i < at.size(); i += 2) {
    EXPECT_EQ(at[i], 0);
    EXPECT_GE(at[i + 1], 0);
    EXPECT_LT(at[i + 1], 16);
    tuples.emplace(at[i], at[i + 1]);
  }
  EXPECT_EQ(tuples.size(), 12u);
}

TEST(RandomInputsTest, ScattersWriteEachBlockOnceAlsoByColumns) {
  const auto inputs = Draw(R"(graph g {
      input row: int64[8,1]
      input column: int64[8,1]
      input x: float32[9,10]
      input u: float32[8]
      tuples = Concat(row, column) {axis=1}
      y = ScatterND(x, tuples, u)
      output y })");
  const std::vector<int64_t> rows = inputs[0].AsInts();
  EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 8u);
  EXPECT_GE(*std::min_element(rows.begin(), rows.end()), 0);
  EXPECT_LT(*std::max_element(rows.begin(), rows.end()), 9);
}

TEST(RandomInputsTest, WhatIsAddedUpMayBeAtOnePlace) {
  const auto inputs = Draw(R"(graph g {
      input at: int64[100,1]
      input x: float32[100]
      input u: float32[100]
      y = ScatterND(x, at, u) {reduction="add"}
      output y })");
  const std::vector<int64_t> at = inputs[0].AsInts();
  EXPECT_LT(std::set(at.begin(), at.end()).size(), 100u);
  EXPECT_LT(*std::max_element(at.begin(), at.end()), 100);
}

TEST(RandomInputsTest, IndicesAreInRangeOfAllThatScatter) {
  const auto inputs = Draw(R"(graph g {
      input at: int64[4,1]
      input x: float32[5,2]
      input z: float32[100,2]
      input u: float32[4,2]
      a = ScatterND(x, at, u)
      b = ScatterND(z, at, u)
      output a, b })");
  const std::vector<int64_t> at = inputs[0].AsInts();
  EXPECT_EQ(std::set(at.begin(), at.end()).size(), 4u);
  EXPECT_LT(*std::max_element(at.begin(), at.end()), 5);
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

TEST(RandomInputsTest, WhatDividesIntegersIsNotZero) {
  constexpr char kText[] = R"(graph g {
      input a: int64[100]
      input b: int64[100]
      y = Div(a, b)
      output y })";
  for (int64_t value : Draw(kText)[1].AsInts()) EXPECT_NE(value, 0);
  for (int64_t value : DrawWide(kText)[1].AsInts()) EXPECT_NE(value, 0);
}

TEST(WideInputsTest, FloatsOfAllMagnitudesZerosHalvesAndThresholds) {
  const std::vector<double> values = DrawWide(R"(graph g {
      input x: float32[256]
      a = Neg(x)
      y = LeakyRelu(a) {alpha=0.75}
      output y })")[0]
                                         .AsDoubles();
  const auto count = [&values](auto test) { return std::ranges::count_if(values, test); };
  EXPECT_GT(count([](double v) { return v == 0 && !std::signbit(v); }), 0);
  EXPECT_GT(count([](double v) { return v == 0 && std::signbit(v); }), 0);
  EXPECT_GT(count([](double v) { return std::abs(v) > 100; }), 0);
  EXPECT_GT(count([](double v) { return v != 0 && std::abs(v) < 0.01; }), 0);
  EXPECT_GT(count([](double v) { return v < 0; }), 50);
  EXPECT_GT(count([](double v) { return std::abs(v - std::trunc(v)) == 0.5; }), 0);
  EXPECT_GT(count([](double v) { return v == 0.75; }), 0);
  EXPECT_GT(count([](double v) { return v == 0.75 * 1.0625; }), 0);
  EXPECT_EQ(count([](double v) { return std::isinf(v); }), 0);
}

// NaN and huge numbers, where what becomes of them does not depend on the order of operations.
TEST(WideInputsTest, ExtremesWhereTheGraphTakesThem) {
  constexpr char kText[] = R"(graph g {
      input x: float32[256]
      input z: float32[16,16]
      const w: float32[16,16] = random(1)
      y = Relu(x)
      p = MatMul(z, w)
      output y, p })";
  const auto inputs = DrawWide(kText);
  const auto is_huge = [](double v) { return std::abs(v) > 1e30; };
  const auto is_nan = [](double v) { return std::isnan(v); };
  EXPECT_TRUE(std::ranges::any_of(inputs[0].AsDoubles(), is_huge));
  EXPECT_TRUE(std::ranges::any_of(inputs[0].AsDoubles(), is_nan));
  EXPECT_TRUE(std::ranges::none_of(inputs[1].AsDoubles(), is_huge));
  EXPECT_TRUE(std::ranges::none_of(inputs[1].AsDoubles(), is_nan));
  const model::Graph graph = Inferred(kText);
  for (const double value :
       RandomInputs(graph, 0, WideDraws(graph, /*assume_finite_inputs=*/true)[0])[0].AsDoubles()) {
    EXPECT_LE(std::abs(value), 1e6);
  }
}

TEST(WideInputsTest, AMaskHidesWholeRowsWhereThatMakesNumbers) {
  const auto inputs = DrawWide(R"(graph g {
      input x: float32[16,4]
      input mask: float32[16,4]
      input w: float32[4,4]
      a = Add(x, mask)
      s = Softmax(a) {axis=1}
      y = MatMul(s, w)
      output y })");
  const std::vector<double> mask = inputs[1].AsDoubles();
  int hidden = 0;
  for (size_t row = 0; row < 16; ++row) {
    const auto begin = mask.begin() + static_cast<std::ptrdiff_t>(4 * row);
    hidden += std::all_of(begin, begin + 4, [](double v) { return std::isinf(v) && v < 0; });
  }
  EXPECT_GE(hidden, 2);
  EXPECT_LT(hidden, 8);
  for (double value : inputs[2].AsDoubles()) EXPECT_TRUE(std::isfinite(value));
}

TEST(WideInputsTest, NoInfinitiesWhereTheUserSaysThatThereAreNone) {
  const model::Graph graph =
      Inferred("graph g { input x: float32[64] y = Softmax(x) {axis=0} output y }");
  const auto infinite = [](double v) { return std::isinf(v); };
  EXPECT_TRUE(
      std::ranges::any_of(RandomInputs(graph, 0, WideDraws(graph)[0])[0].AsDoubles(), infinite));
  for (const struct Draw& draw : WideDraws(graph, true)) {
    EXPECT_TRUE(std::ranges::none_of(RandomInputs(graph, 0, draw)[0].AsDoubles(), infinite));
  }
}

TEST(WideInputsTest, IntegersAreNotOnlyMasks) {
  const std::vector<int64_t> values =
      DrawWide("graph g { input m: int64[100] y = Cast(m) {to=1} output y }")[0].AsInts();
  EXPECT_EQ(*std::ranges::max_element(values), 1000);
  EXPECT_EQ(*std::ranges::min_element(values), -1000);
  const std::vector<int64_t> bytes =
      DrawWide("graph g { input m: uint8[100] y = Cast(m) {to=7} output y }")[0].AsInts();
  EXPECT_GE(*std::ranges::min_element(bytes), 0);
}

TEST(WideInputsTest, LimitsOfIntegersThatAreOnlyComputedWith) {
  const std::vector<int64_t> values =
      DrawWide("graph g { input m: int64[100] y = Neg(m) output y }")[0].AsInts();
  using Limits = std::numeric_limits<int64_t>;
  EXPECT_THAT(values, AllOf(Contains(Limits::min()), Contains(Limits::max())));
  const std::vector<int64_t> bytes =
      DrawWide("graph g { input m: uint8[100] y = Cast(m) {to=1} output y }")[0].AsInts();
  EXPECT_THAT(bytes, AllOf(Contains(0), Contains(255)));
}

// Also large odd ones, which are no limits of the type.
TEST(WideInputsTest, SingleIntegersAreOfAllKindsOverTheSets) {
  const model::Graph graph = Inferred("graph g { input m: int64[1] y = Neg(m) output y }");
  int64_t long_ones = 0;
  for (int64_t wide = 0; wide < 16; ++wide) {
    const auto inputs = RandomInputs(graph, static_cast<uint64_t>(wide), WideDraws(graph)[0],
                                     {.set = wide, .wide = wide});
    const int64_t value = inputs[0].AsInts()[0];
    const bool is_large = value > 1'000'000 || value < -1'000'000;
    long_ones += is_large && value % 2 != 0 && value != std::numeric_limits<int64_t>::max();
  }
  EXPECT_GT(long_ones, 0);
}

TEST(WideInputsTest, ThresholdsOfIntegersAndTheirNeighbors) {
  const std::vector<int64_t> values = DrawWide(R"(graph g {
      input m: int64[100]
      const limit: int64[] = [123456]
      y = Greater(m, limit)
      output y })")[0]
                                          .AsInts();
  EXPECT_THAT(values, AllOf(Contains(123455), Contains(123456), Contains(123457)));
}

// A token that is compared with is drawn, but no index out of range.
TEST(WideInputsTest, ThresholdsAmongIndicesAreInRange) {
  const std::vector<int64_t> ids = DrawWide(R"(graph g {
      input ids: int64[64]
      const table: float32[1000,3] = random(1)
      const pad: int64[] = [999]
      y = Gather(table, ids) {axis=0}
      p = Equal(ids, pad)
      output y, p })")[0]
                                       .AsInts();
  EXPECT_THAT(ids, AllOf(Contains(999), Contains(998), Each(Lt(1000)), Each(Ge(-1000))));
}

// The sets at one binding go on with the same walk.
TEST(RandomInputsTest, IndicesReachAllOfATable) {
  const model::Graph graph = Inferred(R"(graph g {
      input ids: int64[8,16]
      const table: float32[300,3] = random(1)
      y = Gather(table, ids) {axis=0}
      output y })");
  std::set<int64_t> seen;
  for (int64_t set = 0; set < 3; ++set) {
    for (const int64_t id :
         RandomInputs(graph, static_cast<uint64_t>(set), UnitDraws()[0], {.set = set})[0]
             .AsInts()) {
      seen.insert(id);
    }
  }
  EXPECT_GE(seen.size(), 300u);
}

// One row after the other is mixed, small, and zero.
TEST(WideInputsTest, FewRowsAreOfAllKindsOverTheSets) {
  const model::Graph graph = Inferred("graph g { input x: float32[1,8] y = Exp(x) output y }");
  std::vector<double> largest;
  for (int64_t wide = 0; wide < 3; ++wide) {
    const auto inputs = RandomInputs(graph, 0, WideDraws(graph, true)[0], {.wide = wide});
    const std::vector<double> row = inputs[0].AsDoubles();
    largest.push_back(
        std::abs(*std::ranges::max_element(row, {}, [](double value) { return std::abs(value); })));
  }
  EXPECT_THAT(largest, ElementsAre(Gt(0.01), AllOf(Gt(0), Lt(0.01)), 0));
}

TEST(WideInputsTest, ALongRowHasPartsOfAllKinds) {
  const std::vector<double> row =
      DrawWide("graph g { input x: float32[1,128] y = Sin(x) output y }")[0].AsDoubles();
  const auto count_in_a_row = [&row](auto test) {
    int longest = 0, length = 0;
    for (const double value : row)
      longest = std::max(longest, length = test(value) ? length + 1 : 0);
    return longest;
  };
  EXPECT_GE(count_in_a_row([](double value) { return value == 0; }), 16);
  EXPECT_GE(count_in_a_row([](double value) { return std::abs(value) < 0.01; }), 32);
}

TEST(WideInputsTest, FewElementsWantMoreSets) {
  const auto wanted = [](absl::string_view text) { return WideSetsWanted(Inferred(text), {}); };
  EXPECT_EQ(wanted("graph g { input x: float32[1,4] y = Exp(x) output y }"), 8);
  EXPECT_EQ(wanted("graph g { input x: float32[4,64] y = Exp(x) output y }"), 1);
  EXPECT_EQ(wanted("graph g { input x: float32[4,64] y = Elu(x) {alpha=0.5} output y }"), 1);
  EXPECT_EQ(wanted(R"(graph g {
      input ids: int64[4,8]
      const table: float32[300,3] = random(1)
      y = Gather(table, ids) {axis=0}
      output y })"),
            10);
}

TEST(WideInputsTest, BooleansOfAllKindsOfRows) {
  const std::vector<int64_t> values =
      DrawWide("graph g { input m: bool[8,16] y = Not(m) output y }")[0].AsInts();
  std::set<int64_t> sums;
  for (size_t row = 0; row < 8; ++row) {
    int64_t sum = 0;
    for (size_t i = 0; i < 16; ++i) sum += values[16 * row + i];
    sums.insert(sum);
  }
  EXPECT_TRUE(sums.contains(0));
  EXPECT_TRUE(sums.contains(16));
  EXPECT_GT(sums.size(), 2u);
}

TEST(WideInputsTest, IndicesAreCountedFromTheEndToo) {
  const std::vector<int64_t> ids = DrawWide(R"(graph g {
      input ids: int64[200]
      const table: float32[7,3] = random(1)
      y = Gather(table, ids) {axis=0}
      output y })")[0]
                                       .AsInts();
  EXPECT_EQ(*std::ranges::min_element(ids), -7);
  EXPECT_EQ(*std::ranges::max_element(ids), 6);
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
