#include "core/report/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/report/report.h"

namespace quotient::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// 1000 us, of which 900 are in products that take 810 at the peak.
Report Example() {
  Report report;
  report.model_name = "m.onnx";
  report.fingerprint = "onnxruntime 1.31.1; AMD & sons";
  report.threads = 2;
  report.outcome = Outcome::kImproved;
  report.measured = true;
  report.speedup_percent = 4.5;
  report.original.measured.runs = report.optimized.measured.runs = 10;
  report.notes = {"a note"};
  Explanation& explanation = report.explanation.emplace();
  explanation.fused = {{"Conv + Relu", "Conv (nchwc)", 12, 850, false}};
  explanation.missed = {{.what = "Mul behind Conv",
                         .reason = "operand_order",
                         .text = "the constant is the first operand",
                         .sites = {"<mul1>", "mul2"},
                         .us = 40,
                         .done = {Remedy::kRewritten, {"conv-scale"}, 38}},
                        {.what = "Add behind MatMul",
                         .reason = "open_shape",
                         .text = "dimensions are open",
                         .sites = {"add1"},
                         .us = 20,
                         .estimated = true}};
  explanation.by_runtime = {{"conv-relu", 7}, {"mul-one", 1}};
  explanation.peak = Peak{120'000, {{1 << 17, 80'000}, {1 << 27, 20'000}}, 0.5};
  explanation.below_peak = {{.kernel = "Softmax",
                             .operands = "1x8x64x64",
                             .site = "softmax",
                             .places = 2,
                             .us = 30,
                             .at_peak_us = 3,
                             .bound = "memory",
                             .done = {Remedy::kTried, {"softmax-last"}, -2}}};
  explanation.original = {.us = 1000, .products_us = 880, .products_at_peak_us = 800};
  explanation.result = {.us = 950, .products_us = 900, .products_at_peak_us = 810};
  return report;
}

TEST(ExplanationTest, IsReadBackWithItsReport) {
  const std::string json = ToJson(Example());
  const auto report = ReportFromJson(json);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(ToJson(*report), json);
  ASSERT_TRUE(report->explanation.has_value());
  EXPECT_EQ(ExplanationText(*report), ExplanationText(Example()));
  EXPECT_EQ(report->explanation->missed[0].done.rules, std::vector<std::string>{"conv-scale"});
  EXPECT_EQ(report->explanation->below_peak[0].done.remedy, Remedy::kTried);
  EXPECT_EQ(report->explanation->peak->bandwidth[1].bytes_per_us, 20'000);
}

TEST(ExplanationTest, AReportMayHaveNone) {
  Report report = Example();
  report.explanation.reset();
  const auto read = ReportFromJson(ToJson(report));
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->explanation.has_value());
  EXPECT_EQ(ExplanationSection(report), "");
  EXPECT_EQ(ExplanationText(report), "");
}

TEST(ExplanationTest, TheTextHasWhatIsWorthMostFirst) {
  EXPECT_EQ(ExplanationText(Example()), R"(m.onnx: explained for AMD & sons, 2 threads

  At the limit: 94.7 % of the time is in convolutions and matrix products, which run at 90 % of the peak of this device. All other kernels take 5.3 %: a rewrite that leaves the products as they are cannot gain more.
  Quotient's result gains 4.5 % measured. The first line speaks of what is left, the times below of the original.

  not fused, by the time of the kernels that stand alone
         40.0 us   4.0 %  Mul behind Conv, 2 places, first at <mul1>
                          because the constant is the first operand
                          Quotient's result has other kernels there: conv-scale, predicted to save 38.0 us there
        ~20.0 us   2.0 %  Add behind MatMul, at add1
                          because dimensions are open
                          Quotient left it: no graph that it tried has other kernels there

  farthest from the peak of this device: 120 GFLOP/s, 80 GB/s in the caches, 20 GB/s from memory, 0.5 us to start a kernel
            time  of all   at the peak  share
         30.0 us   3.0 %        3.0 us    10 %  x 2  Softmax 1x8x64x64
                                                that of what it reads and writes, first at softmax
                                                Quotient tried softmax-last, predicted to cost 2.0 us more there, in a graph that was not taken

  fused
        850.0 us  85.0 %  Conv + Relu -> Conv (nchwc): 12 places

  rewrites that leave the kernels as they are: the runtime makes them itself, or undoes them
    conv-relu: 7 places; mul-one: 1 place

  Times are predicted: sums of kernels that were each timed alone.
  note: a note
)");
}

TEST(ExplanationTest, TheJsonForProgramsHasTheVerdict) {
  const auto json = nlohmann::json::parse(ExplanationJson(Example()));
  EXPECT_EQ(json["explanation"]["verdict"], "at_limit");
  EXPECT_EQ(json["explanation"]["missed"][0]["done"]["remedy"], "rewritten");
  EXPECT_EQ(json["explanation"]["below_peak"][0]["share_of_peak"], 0.1);
  EXPECT_EQ(json["speedup_percent"], 4.5);
}

TEST(ExplanationTest, ThePageHasAChapterAndEscapesNames) {
  const std::string page = ToHtml(Example());
  EXPECT_THAT(page, HasSubstr("What the runtime made of it"));
  EXPECT_THAT(page, HasSubstr("At the limit: 94.7 %"));
  EXPECT_THAT(page, HasSubstr("&lt;mul1&gt;, mul2"));
  EXPECT_THAT(page, Not(HasSubstr("<mul1>")));
}

TEST(ExplanationTest, TheVerdictFollowsFromWhereTheTimeGoes) {
  Explanation explanation = *Example().explanation;
  EXPECT_EQ(ProspectOf(explanation), Prospect::kAtLimit);
  explanation.result.products_at_peak_us = 450;
  EXPECT_EQ(ProspectOf(explanation), Prospect::kUpToKernels);
  EXPECT_THAT(VerdictText(explanation), StartsWith("Up to the kernels: "));
  explanation.peak.reset();
  EXPECT_EQ(ProspectOf(explanation), Prospect::kUnknown);
  EXPECT_THAT(VerdictText(explanation), StartsWith("The peak is not known: 94.7 % of the time"));
  explanation.result.products_us = 500;
  explanation.result.missed_us = 95;
  EXPECT_EQ(ProspectOf(explanation), Prospect::kOtherKernels);
  EXPECT_THAT(VerdictText(explanation), HasSubstr("in a slower layout 10.0 % of all"));
  explanation.result = {};
  EXPECT_EQ(VerdictText(explanation), "Nothing is known of the kernels.");
}

}  // namespace
}  // namespace quotient::report
