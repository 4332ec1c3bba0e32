#include "core/report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace quotient::report {
namespace {

Comparison Same() {
  return {.first = "a.onnx",
          .second = "b.onnx",
          .is_same = true,
          .input_sets = 4,
          .max_relative_error = 3.9e-7,
          .tolerance = 1e-4,
          .sizes = {{.shapes = "x=[1,4]", .nodes = 3, .nodes_left_out = 1},
                    {.shapes = "x=[0,4]", .kind = "the batch is empty", .nodes = 1}}};
}

Comparison Different() {
  return {.first = "a.onnx",
          .second = "b.onnx",
          .failure = "output y[0,1] is 2 instead of 1",
          .output = "output y",
          .parted = PartedValue{"h", "Conv", "[3]", 0.5, 0.25, 1},
          .notes = {"something else"}};
}

TEST(ComparisonText, OfEqualModelsSaysWhatWasCompared) {
  EXPECT_EQ(ToText(Same()),
            "same: b.onnx computes what a.onnx does\n"
            "  4 sets of random inputs, largest relative error 3.9e-07 (limit 0.0001)\n"
            "  compared at x=[1,4]: 3 nodes, 1 more could not be evaluated\n"
            "  compared at x=[0,4] (the batch is empty): 1 node\n");
}

TEST(ComparisonText, OfDifferentModelsSaysWhereTheyPart) {
  EXPECT_EQ(
      ToText(Different()),
      "different: b.onnx is not the same as a.onnx\n"
      "  output y[0,1] is 2 instead of 1\n"
      "  they part at 'h', which Conv computes: [3] is 0.25 instead of 0.5; before it, 1 value "
      "that both have by name is the same\n"
      "  note: something else\n");
}

TEST(ComparisonText, NumbersThatDifferLookDifferent) {
  Comparison comparison = Different();
  comparison.parted->first = 1234567.0;
  comparison.parted->second = 1234568.0;
  EXPECT_THAT(ToText(comparison), ::testing::HasSubstr("is 1234568 instead of 1234567"));
  comparison.parted->first = std::nan("");
  comparison.parted->second = 1.0 / 3;
  EXPECT_THAT(ToText(comparison), ::testing::HasSubstr("is 0.3333333333333333 instead of nan"));
}

// Not every integer of 64 bits is a double.
TEST(ComparisonText, IntegersAreExact) {
  Comparison comparison = Different();
  comparison.parted->first = int64_t{-9007199254740993};
  comparison.parted->second = ~uint64_t{0};
  EXPECT_THAT(ToText(comparison), ::testing::HasSubstr("is 18446744073709551615 instead of "
                                                       "-9007199254740993"));
  const auto json = nlohmann::json::parse(ToJson(comparison));
  EXPECT_EQ(json["parted"]["first"], int64_t{-9007199254740993});
  EXPECT_EQ(json["parted"]["second"], ~uint64_t{0});
}

TEST(ComparisonText, NamesCannotForgeLines) {
  Comparison comparison = Different();
  comparison.parted->name = "h\nsame";
  comparison.interface = {"it has no input 'x\nsame'"};
  const std::string text = ToText(comparison);
  EXPECT_EQ(text.find("\nsame"), std::string::npos);
}

TEST(ComparisonJson, HasEverything) {
  const auto json = nlohmann::json::parse(ToJson(Different()));
  EXPECT_EQ(json["same"], false);
  EXPECT_EQ(json["parted"]["value"], "h");
  EXPECT_EQ(json["parted"]["second"], 0.25);
  EXPECT_EQ(json["output"], "output y");
  Comparison infinite = Different();
  infinite.max_relative_error = std::numeric_limits<double>::infinity();
  infinite.parted->second = std::nan("");
  const auto words = nlohmann::json::parse(ToJson(infinite));
  EXPECT_EQ(words["max_relative_error"], "inf");
  EXPECT_EQ(words["parted"]["second"], "nan");
  const auto same = nlohmann::json::parse(ToJson(Same()));
  EXPECT_TRUE(same["parted"].is_null());
  EXPECT_EQ(same["sizes"][1]["kind"], "the batch is empty");
}

}  // namespace
}  // namespace quotient::report
