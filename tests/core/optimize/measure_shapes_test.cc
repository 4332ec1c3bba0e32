#include "core/optimize/measure_shapes.h"

#include <gtest/gtest.h>

#include "core/base/reason.h"
#include "core/model/text.h"

namespace quotient::optimize {
namespace {

model::Graph Parse(absl::string_view text) { return *model::ParseGraph(text); }

TEST(MeasureShapesTest, FirstDimensionIsABatch) {
  const auto chosen = ChooseMeasureShapes(
      Parse("graph g { input x: float32[N,3] input y: float32[N] z = Add(x, y) output z }"), {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->shapes.at("x"), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(chosen->shapes.at("y"), (std::vector<int64_t>{1}));
  ASSERT_EQ(chosen->notes.size(), 1u);
  EXPECT_NE(chosen->notes[0].find("'N'"), std::string::npos);
}

TEST(MeasureShapesTest, WhatTheUserBindsHoldsEverywhere) {
  const auto chosen = ChooseMeasureShapes(
      Parse("graph g { input x: float32[N,S] input y: int64[N,S] z = Foo(x, y) output z }"),
      {{"x", {4, 128}}});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->shapes.at("y"), (std::vector<int64_t>{4, 128}));
  EXPECT_TRUE(chosen->notes.empty());
}

TEST(MeasureShapesTest, OtherDimensionsAreAssumedAndNoted) {
  const auto chosen = ChooseMeasureShapes(
      Parse("graph g { input x: float32[1,S] input y: float32[N,3,H,?] z = Foo(x, y) output z }"),
      {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->shapes.at("x"), (std::vector<int64_t>{1, 128}));
  EXPECT_EQ(chosen->shapes.at("y"), (std::vector<int64_t>{1, 3, 224, 224}));
  EXPECT_EQ(chosen->notes.size(), 4u);
  EXPECT_TRUE(chosen->guessed);
}

TEST(MeasureShapesTest, AnUnknownRankIsRefused) {
  const auto unranked =
      ChooseMeasureShapes(Parse("graph g { input x: float32[*] z = Relu(x) output z }"), {});
  EXPECT_EQ(GetReason(unranked.status()), Reason::kShapeMissing);
  EXPECT_NE(unranked.status().message().find("--measure-shape x"), absl::string_view::npos);
}

TEST(MeasureShapesTest, UnusedAndOpaqueInputsNeedNothing) {
  const auto chosen = ChooseMeasureShapes(Parse(R"(graph g {
      input unused: float32[1,S]
      input x: float32[*]
      input y: float32[2]
      a = Opaque "Foo" (x)
      z = Relu(y)
      output z, a })"),
                                          {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_TRUE(chosen->shapes.empty());
}

}  // namespace
}  // namespace quotient::optimize
