#include "core/report/simplification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace quotient::report {
namespace {

Simplification Example() {
  return {.model_name = "m.onnx",
          .is_simplified = true,
          .before = {.operators = {{"BatchNormalization", 2}, {"Conv", 2}, {"Identity", 1}},
                     .bytes = 2000},
          .after = {.operators = {{"Conv", 2}, {"com.acme.Foo", 1}}, .bytes = 1500},
          .rules = {{"conv-batchnorm", 2}, {"identity", 1}},
          .verification = {.passed = true,
                           .max_relative_error = 3.9e-7,
                           .tolerance = 1e-4,
                           .inputs = 4,
                           .bindings = {{.shapes = {{"x", {1, 4}}}, .kind = "", .nodes = 3}}},
          .seconds = 0.5,
          .check_seconds = 0.25,
          .notes = {"something\nelse"}};
}

TEST(SimplificationText, ShowsWhatChangedFirst) {
  EXPECT_EQ(ToText(Example()),
            "m.onnx\n"
            "  operator                             before        after\n"
            "  BatchNormalization                        2            0  -2\n"
            "  Identity                                  1            0  -1\n"
            "  com.acme.Foo                              0            1  +1\n"
            "  Conv                                      2            2\n"
            "  nodes                                     5            3  -2\n"
            "  bytes                                  2000         1500  -500\n"
            "  rules: conv-batchnorm x 2, identity x 1\n"
            "  checked: equal on 4 random inputs, largest relative error 3.9e-07 (limit 0.0001)\n"
            "           also at x=1,4: 3 nodes\n"
            "  took 0.50 s, 0.25 s of it for the check\n"
            "  note: something\\nelse\n");
}

TEST(SimplificationText, OfAModelThatStaysSaysThatNothingWasCompared) {
  Simplification stayed = Example();
  stayed.is_simplified = false;
  stayed.after = stayed.before;
  stayed.verification = {};
  stayed.rules = {};
  EXPECT_THAT(ToText(stayed), ::testing::HasSubstr("checked: the model came back as it was\n"));
  stayed.is_same_graph = true;
  EXPECT_THAT(ToText(stayed), ::testing::HasSubstr("checked: the graph is that of the model"));
  EXPECT_TRUE(nlohmann::json::parse(ToJson(stayed))["check"].is_null());
}

TEST(SimplificationJson, HasAllFigures) {
  const auto json = nlohmann::json::parse(ToJson(Example()));
  EXPECT_EQ(json["model"], "m.onnx");
  EXPECT_EQ(json["simplified"], true);
  EXPECT_EQ(json["before"]["nodes"], 5);
  EXPECT_EQ(json["after"]["operators"]["com.acme.Foo"], 1);
  EXPECT_EQ(json["after"]["bytes"], 1500);
  EXPECT_EQ(json["rules"]["conv-batchnorm"], 2);
  EXPECT_EQ(json["check"]["inputs"], 4);
  EXPECT_EQ(json["notes"][0], "something\nelse");
}

}  // namespace
}  // namespace quotient::report
