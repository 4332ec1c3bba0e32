#include "tests/core/prove/promised.h"

#include <gtest/gtest.h>

#include "core/model/graph.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/status_matchers.h"

namespace quotient::prove {
namespace {

bool OverflowsIn(const char* text) {
  const model::Graph graph = rules::ParseStatic(text);
  const auto overflows = Overflows(graph, rules::RandomInputs(graph, /*seed=*/1));
  EXPECT_OK(overflows);
  return overflows.ok() && *overflows;
}

TEST(Promised, TheSquareOfAMaskOverflows) {
  EXPECT_TRUE(OverflowsIn(R"(graph g {
    input x: float32[2]
    const lowest: float32[] = [-3.4028235e38]
    y: float32[2] = Add(x, lowest)
    z: float32[2] = Mul(y, y)
    output z
  })"));
}

TEST(Promised, MasksAndInfinitiesByThemselvesDoNotOverflow) {
  EXPECT_FALSE(OverflowsIn(R"(graph g {
    input x: float32[2]
    input hides: bool[2]
    const lowest: float32[] = [-3.4028235e38]
    const infinite: float32[] = [-inf]
    const zero: float32[] = [0]
    a: float32[2] = Where(hides, x, lowest)
    b: float32[2] = Add(a, infinite)
    c: float32[2] = Div(x, zero)
    output b, c
  })"));
}

TEST(Promised, AContractionOfInfinitiesIsBlurred) {
  const model::Graph graph = rules::ParseStatic(R"(graph g {
    input x: float32[2,1]
    const infinite: float32[1,2] = [inf, 1]
    y: float32[2,2] = MatMul(x, infinite)
    output y
  })");
  ASSERT_OK_AND_ASSIGN(const bool blurs,
                       BlursInfinities(graph, rules::RandomInputs(graph, /*seed=*/1)));
  EXPECT_TRUE(blurs);
}

}  // namespace
}  // namespace quotient::prove
