#include "core/model/occurring_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/text.h"

namespace quotient::model {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

Graph SomeGraph() {
  return *ParseGraph(R"(graph g {
      input x: float32[1,S,8]
      const pe: float32[1,77,8] = random(1)
      const to: int64[3] = [-1,49,0]
      const open: int64[1] = [9223372036854775807]
      const many: int64[20] = random(2)
      const scale: float32[] = [3]
      p = Add(x, pe)
      q = Mul(p, scale)
      r = Reshape(q) {shape=[5,1,-1]}
      y = Reshape(r, to)
      output y })");
}

TEST(OccurringSizesTest, DimsOfConstantsAndElementsOfShapesOccur) {
  EXPECT_THAT(OccurringSizes(SomeGraph(), 1, 100), UnorderedElementsAre(3, 5, 8, 20, 49, 77));
}

TEST(OccurringSizesTest, TheNearestComeFirst) {
  EXPECT_THAT(OccurringSizes(SomeGraph(), 60, 3), ElementsAre(49, 77, 20));
}

}  // namespace
}  // namespace quotient::model
