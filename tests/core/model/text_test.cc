#include "core/model/text.h"

#include <gtest/gtest.h>

#include "core/base/reason.h"

namespace quotient::model {
namespace {

TEST(TextTest, PrintsWhatItParsed) {
  const char* text = R"(graph squeeze {
  input x: float32[N,3,8,8]
  input bias: float32[2] = [0.5, -1]
  const axes: int64[2] = [2, 3]
  const s: float32[] = [0.25]
  const flag: bool[2] = [1, 0]
  c: float32[N,3,8,8] = Conv(x, _, bias) {alpha=0.5, mode="a b", pads=[1,1,1,1]} @conv/1
  (a, _, b) = Split(c) {axis=1, names=["p","q"], scales=[1.0,0.1], none=[]}
  m = Opaque "com.acme.Foo" (a, b, axes) {empty=int64[0] [], value=float16[2,1] [0.5, -0]}
  "odd name" = Clip(m, s, flag)
  output "odd name", x
}
)";
  const auto graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::string printed = PrintGraph(*graph);
  const auto again = ParseGraph(printed);
  ASSERT_TRUE(again.ok()) << again.status() << printed;
  EXPECT_EQ(PrintGraph(*again), printed);
  EXPECT_EQ(GraphDigest(*again), GraphDigest(*graph));
  EXPECT_NE(printed.find("c: float32[N,3,8,8] = Conv(x, _, bias) "
                         "{alpha=0.5, mode=\"a b\", pads=[1,1,1,1]} @conv/1"),
            std::string::npos)
      << printed;
  EXPECT_NE(printed.find("{empty=int64[0] [], value=float16[2,1] [0.5, -0]}"), std::string::npos)
      << printed;
}

TEST(TextTest, RandomConstantsAreReproducible) {
  const auto graph = ParseGraph(R"(graph g {
    const a: float32[3] = random(7)
    const b: float32[3] = random(7)
    const c: float32[3] = random(8)
    y = Sum(a, b, c)
    output y
  })");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(SameContent(*graph->values[0].constant, *graph->values[1].constant));
  EXPECT_FALSE(SameContent(*graph->values[0].constant, *graph->values[2].constant));
}

TEST(TextTest, AttributesAloneAreRead) {
  for (const char* text : {"", "{axis=1, perm=[1,0], scale=0.5}", "{mode=\"constant\"}"}) {
    const auto attributes = ParseAttributes(*text == '\0' ? "{}" : text);
    ASSERT_TRUE(attributes.ok()) << attributes.status();
    EXPECT_EQ(ToString(*attributes), text);
  }
  for (const char* text : {"", "{", "{axis}", "{axis=1} x"}) {
    EXPECT_FALSE(ParseAttributes(text).ok()) << text;
  }
}

TEST(TextTest, ErrorsHaveAPlace) {
  struct Case {
    std::string text;
    const char* message;
  };
  const Case cases[] = {
      {"", "line 1, column 1"},
      {"graph g { output y }", "no value of the name 'y'"},
      {"graph g {\n  input x float32[1]\n}", "line 2, column 11: expected ':'"},
      {"graph g { input x: float33[1] output x }", "not a tensor type"},
      {"graph g { const x: float32[2] = [1] output x }", "1 elements for float32[2]"},
      {"graph g { const x: int64[1] = [99999999999999999999] output x }", "not a number"},
      {"graph g { const x: int64[1] = [0.5] output x }", "not a number"},
      {"graph g { const x: float32[N] = [1] output x }", "static type"},
      {"graph g { const x: float32[99999999999,99999999999] = random(1) output x }", "too large"},
      {"graph g { input x: float32[1] y = Relu(x) {a=} output y }", "not an attribute"},
      {absl::StrCat("graph g { input x: float32[1] y = Relu(x) {a=", std::string(1'000'000, '['),
                    "} output y }"),
       "not an attribute"},
      {"graph g { input x: float32[1] y = Relu(x) {a=[1,\"b\"]} output y }", "different kinds"},
      {"graph g { input x: float32[1] input x: float32[1] output x }", "defined twice"},
      {"graph \"g", "unterminated string"},
      {"graph g { output x } tail", "no value"},
      {"graph g { input x: float32[1] output x } tail", "text after the graph"},
  };
  for (const Case& c : cases) {
    const auto graph = ParseGraph(c.text);
    ASSERT_FALSE(graph.ok()) << c.text;
    EXPECT_EQ(GetReason(graph.status()), Reason::kModelMalformed);
    EXPECT_NE(graph.status().ToString().find(c.message), std::string::npos)
        << c.text << ": " << graph.status();
  }
}

}  // namespace
}  // namespace quotient::model
