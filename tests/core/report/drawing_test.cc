#include <gtest/gtest.h>

#include "core/report/html.h"

namespace quotient::report {
namespace {

TEST(DrawGraphTest, FoldsWhatDidNotChange) {
  std::vector<DrawnNode> chain;
  for (int i = 0; i < 30; ++i) {
    chain.push_back(
        {"n", "Relu", i == 0 ? std::vector<int>{} : std::vector<int>{i - 1}, i == 15, 1});
  }
  const std::string svg = DrawGraph(chain, "<a chain>");
  EXPECT_NE(svg.find("14 unchanged nodes"), std::string::npos) << svg;
  EXPECT_NE(svg.find("13 unchanged nodes"), std::string::npos) << svg;
  EXPECT_NE(svg.find("aria-label=\"&lt;a chain&gt;\""), std::string::npos) << svg;
}

TEST(DrawGraphTest, SurvivesEmptyAndForwardEdges) {
  EXPECT_NE(DrawGraph({}, "").find("<svg"), std::string::npos);
  EXPECT_NE(DrawGraph({{"a", "Relu", {5, -1, 0}, true, 1}}, "").find("<rect"), std::string::npos);
}

}  // namespace
}  // namespace quotient::report
