#include <gtest/gtest.h>

#include "core/report/report.h"
#include "tests/core/report/example_report.h"

namespace quotient::report {
namespace {

TEST(ReportTableTest, ShowsTheSearch) {
  Report report = Example();
  EXPECT_NE(ToTable(report).find(
                "  search: mcts, 1.5 s, 1000 e-nodes, 321 simulations, 123 different states, "
                "33 kernels measured, ended by saturated\n"
                "  search: gain by e-nodes 10.4 % @ 0.25 s, 20.1 % @ 1.25 s\n"),
            std::string::npos)
      << ToTable(report);
  report.search = {"mcts", 1.5, 1.4, 1, 1, 1, "saturated", 1, 1, 1, {{0, 0, 7}}};
  EXPECT_NE(ToTable(report).find("1 e-node, 1 simulation, 1 different state, 1 kernel measured, "),
            std::string::npos);
  EXPECT_EQ(ToTable(report).find("gain by e-nodes"), std::string::npos);
}

TEST(ReportTableTest, OfManyStepsAFewAreShownWithTheFirstAndTheLast) {
  Report report = Example();
  report.search.best_costs.clear();
  for (int i = 0; i <= 100; ++i) report.search.best_costs.push_back({0.01 * i, i, 200.0 - i});
  EXPECT_NE(ToTable(report).find("gain by e-nodes 0.5 % @ 0.01 s, 10.0 % @ 0.2 s, 20.0 % @ 0.4 s, "
                                 "30.0 % @ 0.6 s, 40.0 % @ 0.8 s, 50.0 % @ 1 s\n"),
            std::string::npos);
}

TEST(ReportTableTest, LeadsWithWhatGained) {
  const std::string table = ToTable(Example());
  constexpr char kGains[] = R"(
         saved   of all  predicted, by rules
       23.8 us   23.6 %  bn-conv, fold: 3 places
       22.5 us   22.4 %    x 2  Conv, BatchNormalization -> Conv, first at <conv1>
        1.2 us    1.2 %    x 1  Relu -> nothing, at relu
      ~-3.5 us   -3.5 %  (no rule: constants folded, equal parts merged): 1 place
      ~-3.5 us   -3.5 %    x 1  Add -> Sub, at sum
       ~0.0 us    0.0 %  1 other combination of rules
      ~-0.5 us   -0.5 %  kernels that both have, in other surroundings

  node )";
  EXPECT_NE(table.find(kGains), std::string::npos) << table;
  Report same = Example();
  same.gains = {};
  EXPECT_EQ(ToTable(same).find("of all"), std::string::npos);
}

// As on a busy machine, where graphs run on one thread.
TEST(ReportTableTest, AResultThatDidNotRunHasNoTimes) {
  Report report = Example();
  report.optimized.measured = {};
  const std::string table = ToTable(report);
  EXPECT_NE(table.find("not run"), std::string::npos) << table;
  EXPECT_EQ(table.find("  0.0 us"), std::string::npos) << table;
  EXPECT_EQ(table.find("unknown"), std::string::npos) << table;
  report.speedup_interval.reset();
  EXPECT_NE(ToTable(report).find("unknown"), std::string::npos) << "nothing was compared";
}

// Names of nodes differ at their ends.
TEST(ReportTableTest, OfLongLinesAndNamesTheEndIsKept) {
  const std::string block = "/model/encoder/block.11/layer.0/SelfAttention/projection/";
  Report report = Example();
  RegionGain& region = report.gains.by_rules[0].regions[0];
  region.sites = {block + "q/MatMul", block + "k/MatMul"};
  region.after = {{"Conv + Add + Relu + Add + Relu + Add + Relu + Add + Relu", 2, 38}};
  report.nodes[1].name = block + "q/MatMul";
  const std::string table = ToTable(report);
  EXPECT_NE(table.find("  x 2  Conv, BatchNormalization -> Conv + Add .., first at "
                       "/model/..elfAttention/projection/q/MatMul\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("\n  /model/encod..ention/projection/q/MatMul Conv "), std::string::npos)
      << table;
}

TEST(ReportTableTest, OfManyRulesAFewAreNamed) {
  Report report = Example();
  report.gains.by_rules[2].regions[0].after.clear();
  const std::string table = ToTable(report);
  EXPECT_NE(table.find("  a, b, c, d and 1 more: 1 place\n"), std::string::npos) << table;
  EXPECT_NE(ToHtml(report).find("<b>a, b, c, d, e: 1 place</b>"), std::string::npos);
}

TEST(ReportTableTest, AnswersQuestions) {
  Report report = Example();
  const char kAnswer[] =
      "\n  why not conv-merge at <conv2>: it was applied, but not used\n"
      "    the best graph with it costs 90 us\n"
      "  why not fold at none: no such node\n";
  EXPECT_NE(ToTable(report).find(kAnswer), std::string::npos) << ToTable(report);
  EXPECT_NE(ToHtml(report).find("<b>conv-merge at &lt;conv2&gt;</b>: it was applied"),
            std::string::npos);
  report.passed_through = "OPSET_UNKNOWN";
  EXPECT_NE(ToTable(report).find("why not fold at none"), std::string::npos);
  report.why_not.clear();
  EXPECT_EQ(ToHtml(report).find("Why not"), std::string::npos);
}

TEST(ReportTableTest, SaysWhatWasMeasured) {
  const std::string table = ToTable(Example());
  EXPECT_NE(table.find("improved on cpu"), std::string::npos);
  EXPECT_NE(table.find("search: resumed 2 times, the last time with what 210 simulations"),
            std::string::npos);
  Report model = Example();
  model.measured = false;
  model.device = "model:h200";
  EXPECT_NE(ToTable(model).find("Nothing was measured"), std::string::npos);
}

}  // namespace
}  // namespace quotient::report
