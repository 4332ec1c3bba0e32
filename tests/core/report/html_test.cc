#include "core/report/html.h"

#include <gtest/gtest.h>

#include "core/report/report.h"
#include "tests/core/report/example_report.h"

namespace quotient::report {
namespace {

TEST(ReportHtmlTest, EscapesEveryName) {
  const std::string html = ToHtml(Example());
  EXPECT_NE(
      html.find("also at &lt;x&gt;=2,3,35 (a &lt;kind&gt;): 11 nodes, 1 cut out; a second binding"),
      std::string::npos);
  EXPECT_EQ(html.find("<script>"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(html.find("25.0 % faster"), std::string::npos);
  EXPECT_NE(html.find("AMD &amp; sons"), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos) << "nothing from elsewhere";
}

TEST(ReportHtmlTest, NamesMayBeOfAnyLanguage) {
  EXPECT_EQ(HtmlEscaped("modèle 模型 \xf0\x9f\x98\x80 <&\"'>"),
            "modèle 模型 \xf0\x9f\x98\x80 &lt;&amp;&quot;&#39;&gt;");
  // No UTF-8: a byte alone, a sequence that is cut, an overlong form, a surrogate.
  EXPECT_EQ(HtmlEscaped("\xff \xe6\xa8 \xc0\xaf \xed\xa0\x80"), "? ?? ?? ???");
  EXPECT_EQ(HtmlEscaped(absl::string_view("a\0b\x1b\x7f\n", 6)), "a?b???");
  // Controls, a space without width, a change of direction, an isolate, a byte order mark.
  EXPECT_EQ(HtmlEscaped("\xc2\x9b\xe2\x80\x8b\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf"), "?????");
}

TEST(ReportHtmlTest, ShowsTheSearch) {
  const std::string html = ToHtml(Example());
  EXPECT_NE(html.find("321 simulations, 123 different states"), std::string::npos);
  EXPECT_NE(html.find("<polyline"), std::string::npos);
  EXPECT_NE(html.find("in the end a gain of 20.1 %"), std::string::npos);
  EXPECT_NE(html.find("The search was resumed 2 times, the last time with what 210 simulations"),
            std::string::npos);
  EXPECT_NE(html.find("uses in the result"), std::string::npos);
  EXPECT_NE(html.find("<td>bn-conv</td><td class=\"num\">6</td><td class=\"num\">5</td><td "
                      "class=\"num\">12</td><td class=\"num\">1</td><td class=\"num\">24.2</td><td "
                      "class=\"num\">1.5</td>"),
            std::string::npos);
  Report plain = Example();
  plain.search = {"saturate", 1.5, 1.4, 1000, 400, 7, "saturated", 33};
  plain.rules.clear();
  EXPECT_EQ(ToHtml(plain).find("The search"), std::string::npos);
}

TEST(ReportHtmlTest, NoImprovementSaysSo) {
  Report report = Example();
  report.outcome = Outcome::kNoImprovement;
  EXPECT_NE(ToHtml(report).find("No improvement"), std::string::npos);
  EXPECT_EQ(ToHtml(report).find("nothing was measured"), std::string::npos);
  report.measured = false;
  EXPECT_NE(ToHtml(report).find("nothing was measured"), std::string::npos);
}

TEST(ReportHtmlTest, WhatNeedsNoCheckWasNotChecked) {
  Report report = Example();
  report.outcome = Outcome::kNoImprovement;
  report.verification = {true, 0, 1e-4, 0};
  EXPECT_NE(ToHtml(report).find("not needed"), std::string::npos);
}

// Of somebody who sees the model for the first time: how much faster, where, how sure, what
// changed, what next.
TEST(ReportHtmlTest, AnswersQuestionsInTheirOrder) {
  const std::string html = ToHtml(Example());
  size_t last = 0;
  for (const char* const part :
       {"<nav aria-label=\"pages\"><a href=\"#where\">", "<main><h1>", "class=\"verdict",
        "id=\"where\"", "id=\"sure\"", "id=\"changed\"", "id=\"next\"", "id=\"circumstances\""}) {
    const size_t at = html.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    EXPECT_LT(last, at) << part;
    last = at;
  }
}

TEST(ReportHtmlTest, SaysWhatToDoNext) {
  Report report = Example();
  EXPECT_NE(ToHtml(report).find("leaves more time to measure them"), std::string::npos);
  EXPECT_EQ(ToHtml(report).find("its time was up"), std::string::npos);
  report.search.stop_reason = "deadline";
  EXPECT_NE(ToHtml(report).find("its time was up"), std::string::npos);
  report.measured = false;
  EXPECT_NE(ToHtml(report).find("Nothing was run: the gain is that of a model"), std::string::npos);
  EXPECT_NE(ToHtml(report).find("quotient check"), std::string::npos);
  report.outcome = Outcome::kNoImprovement;
  EXPECT_EQ(ToHtml(report).find("quotient check"), std::string::npos);
  // A model that came back untouched has no other figures.
  report.passed_through = "CUT";
  EXPECT_EQ(ToHtml(report).find("--why-not"), std::string::npos);
  EXPECT_EQ(ToHtml(report).find("#sure"), std::string::npos);
  EXPECT_NE(ToHtml(report).find("Read the notes"), std::string::npos);
}

TEST(ReportHtmlTest, ShowsWhatGained) {
  const std::string html = ToHtml(Example());
  const size_t gains = html.find("<h2>What gained</h2>"),
               nodes = html.find("<h2>Cost per node</h2>");
  ASSERT_NE(gains, std::string::npos);
  EXPECT_LT(gains, nodes);
  EXPECT_NE(html.find("2 x Conv, BatchNormalization -&gt; Conv, first at &lt;conv1&gt;</td><td "
                      "class=\"num\">22.5 µs</td><td class=\"num\">22.4 %</td>"),
            std::string::npos)
      << html;
}

}  // namespace
}  // namespace quotient::report
