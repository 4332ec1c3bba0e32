#include "core/optimize/footprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_format.h"
#include "core/base/reason.h"
#include "core/model/text.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

double Bytes(absl::string_view text, int sets, int candidates) {
  const model::Graph graph = *model::ParseGraph(text);
  return BytesToRun(graph, LoadOf({}, graph, RunBy::kExecutables, sets, candidates));
}

constexpr char kChain[] = R"(graph g {
    input x: float32[100]
    a: float32[100] = Relu(x)
    b: float32[100] = Relu(a)
    c: float32[100] = Relu(b)
    output c })";

// Two values live at a time in each executable, beside the input and what a kernel uses for itself.
TEST(FootprintTest, EveryCandidateHasBuffersOfItsOwn) {
  EXPECT_EQ(Bytes(kChain, 0, 2) - Bytes(kChain, 0, 1), 400 + 800 + 800);
}

TEST(FootprintTest, EverySetHasInputsAndOutputs) {
  EXPECT_EQ(Bytes(kChain, 3, 1) - Bytes(kChain, 2, 1), 400 + 3 * 400);
}

TEST(FootprintTest, WhatIsReadLaterStays) {
  constexpr char kStays[] = R"(graph g {
    input x: float32[100]
    a: float32[100] = Relu(x)
    b: float32[100] = Relu(a)
    c: float32[100] = Add(a, b)
    output c })";
  EXPECT_EQ(Bytes(kStays, 0, 1) - Bytes(kStays, 0, 0), 400 + 1200 + 1200);
}

TEST(FootprintTest, ReadTwiceOrNeverIsFreedOnce) {
  constexpr char kTwice[] = R"(graph g {
    input x: float32[10]
    a: float32[10] = Relu(x)
    unread: float32[10] = Abs(x)
    b: float32[10] = Mul(a, a)
    c: float32[10] = Mul(b, b)
    output c })";
  EXPECT_EQ(Bytes(kTwice, 0, 1) - Bytes(kTwice, 0, 0), 40 + 80 + 120);
}

// As it is in the folded graph, and packed once for all kernels of an operator.
TEST(FootprintTest, EveryCandidateHasConstantsOfItsOwn) {
  constexpr char kConstant[] = R"(graph g {
    input x: float32[2]
    const w: float32[2] = [1, 2]
    y: float32[2] = Add(x, w)
    v: float32[2] = Add(y, w)
    z: float32[2] = Mul(v, w)
    output z })";
  EXPECT_EQ(Bytes(kConstant, 0, 3) - Bytes(kConstant, 0, 2), 8 + 2 * 8 + (8 + 16 + 24));
}

constexpr char kProduct[] = R"(graph g {
    input x: float32[1,1000]
    const w: float32[1000,1000] = random(1)
    y: float32[1,1000] = MatMul(x, w)
    output y })";

// The graph has the weights once, which are its own here, and so has a candidate, and the file that
// is written of it.
TEST(FootprintTest, WhereNothingRunsThereAreOnlyGraphs) {
  const model::Graph graph = *model::ParseGraph(kProduct);
  const JobLoad load = LoadOf({}, graph, RunBy::kNothing, 0, 1);
  EXPECT_EQ(load.loaded, 0);
  EXPECT_NEAR(BytesToRun(graph, load), 3 * 4e6 + (1 << 26), 1 << 17);
}

TEST(FootprintTest, WhatLiesInFilesIsNotCounted) {
  const model::Graph graph = *model::ParseGraph(kProduct);
  const auto weights = std::ranges::find_if(
      graph.values, [](const model::Value& value) { return value.constant.has_value(); });
  ASSERT_NE(weights, graph.values.end());
  const absl::string_view bytes = model::BytesOf(*weights->constant);
  const auto own = [&](const ModelFiles& files) {
    return LoadOf(files, graph, RunBy::kNothing, 0, 1).own_constant_bytes;
  };
  EXPECT_EQ(own({}), 4e6);
  EXPECT_EQ(own({.model = bytes}), 0);
  EXPECT_EQ(own({.external_data = {{"w", bytes}}}), 0);
  EXPECT_EQ(own({.model = bytes.substr(1)}), 4e6);
  EXPECT_EQ(own({.external_data = {{"w", bytes.substr(0, 1000)}}}), 4e6);
}

TEST(FootprintTest, SoManyFilesAreLoadedAsFit) {
  const model::Graph large = *model::ParseGraph(R"(graph g {
    input x: float32[1,1000]
    const w: float32[1000,100000] = random(1)
    y: float32[1,100000] = MatMul(x, w)
    output y })");
  EXPECT_EQ(LoadOf({}, large, RunBy::kFiles, 0, 5).loaded, 2);
  EXPECT_EQ(LoadOf({}, large, RunBy::kExecutables, 0, 5).loaded, 6);
  EXPECT_EQ(LoadOf({}, *model::ParseGraph(kProduct), RunBy::kFiles, 0, 5).loaded, 6);
}

// CPUs compute in float32.
TEST(FootprintTest, NarrowFloatsAreWideInKernels) {
  constexpr char kNarrow[] = R"(graph g {
    input x: float16[100]
    a: float16[100] = Relu(x)
    output a })";
  EXPECT_EQ(Bytes(kNarrow, 0, 2) - Bytes(kNarrow, 0, 1), 400 + 400 + 800);
}

TEST(FootprintTest, SizesThatOverflowAreInfinite) {
  const model::Graph graph = *model::ParseGraph(R"(graph g {
    input x: float32[1]
    y: float32[1] = Relu(x)
    output y })");
  model::Graph huge = graph;
  huge.values[0].type =
      model::TensorType(model::DType::kFloat32, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_TRUE(std::isinf(BytesToRun(huge, {.input_sets = 1, .candidates = 1, .loaded = 2})));
}

TEST(FootprintTest, ARefusalSaysHowMuchMayBeUsed) {
  const model::Graph graph = *model::ParseGraph(R"(graph g {
    input x: float32[1099511627776]
    y: float32[1099511627776] = Relu(x)
    output y })");
  EXPECT_THAT(
      CheckFits(graph, {.input_sets = 1, .candidates = 1}),
      testing::HasReason(Reason::kModelUnsupported, ::testing::HasSubstr("75 % of a memory of")));
}

// A graph with so many weights of a type.
size_t FilesOf(const std::string& type, int weights) {
  return FilesThatFit(*model::ParseGraph(absl::StrFormat(R"(graph g {
    input x: %1$s[1,1000]
    const w: %1$s[1000,%2$d] = random(1)
    y: %1$s[1,%2$d] = MatMul(x, w)
    output y })",
                                                         type, weights / 1000)));
}

TEST(FootprintTest, FilesShareThreeTimesTheWeightsAndSomeMore) {
  EXPECT_GT(FilesOf("float32", 10'000), 50u);
  EXPECT_EQ(FilesOf("float32", 10'000'000), 2u);
  // These weights take twice as much when they are computed with.
  EXPECT_GT(FilesOf("float32", 4'000'000), FilesOf("float16", 8'000'000));
}

}  // namespace
}  // namespace quotient::optimize
