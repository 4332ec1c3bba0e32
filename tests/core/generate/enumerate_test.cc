#include "core/generate/enumerate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/generate/small_universe.h"

namespace quotient::generate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

// The pairs of all sizes up to `size`, as text.
std::vector<std::string> PairsOf(const Universe& universe, int size, int64_t* num_terms = nullptr) {
  Terms terms(&universe);
  Enumeration enumeration(&terms, /*seed=*/1);
  std::vector<std::string> texts;
  for (int i = 1; i <= size; ++i) {
    for (const auto& [one, other] : enumeration.Grow(i < size)) {
      texts.push_back(terms.Text(one) + " = " + terms.Text(other));
    }
  }
  if (num_terms != nullptr) *num_terms = enumeration.num_terms();
  return texts;
}

TEST(Enumeration, MakesEachTermOnce) {
  int64_t num_terms;
  EXPECT_EQ(PairsOf(SmallUniverseOf({"Neg"}), 1, &num_terms).size(), 0u);
  EXPECT_EQ(num_terms, 2);
  // Neg(Neg(x)) is x again, so there is no third Neg.
  EXPECT_EQ(PairsOf(SmallUniverseOf({"Neg"}), 3, &num_terms).size(), 2u);
  EXPECT_EQ(num_terms, 4);
  // x + x, x + y, y + y.
  PairsOf(SmallUniverseOf({"Add"}), 1, &num_terms);
  EXPECT_EQ(num_terms, 3);
}

TEST(Enumeration, FindsWhatIsEqual) {
  const std::vector<std::string> pairs = PairsOf(SmallUniverseOf({"Add", "Neg", "Relu"}), 3);
  EXPECT_THAT(pairs, Contains("x = Neg(Neg(x))"));
  EXPECT_THAT(pairs, Contains("Neg(Add(x, y)) = Add(Neg(x), Neg(y))"));
  EXPECT_THAT(pairs, Contains("Relu(x) = Relu(Relu(x))"));
  EXPECT_THAT(pairs, Not(Contains("Neg(Relu(x)) = Neg(Relu(Relu(x)))"))) << "follows by congruence";
}

TEST(Enumeration, AnExtremeIsNotEqualToItsOperands) {
  EXPECT_THAT(PairsOf(SmallUniverseOf({"Max", "Relu"}), 1),
              ElementsAre("x = Max(x, x)", "y = Max(y, y)"));
  EXPECT_THAT(PairsOf(SmallUniverseOf({"ReduceMax", "Relu"}), 2),
              Contains("Relu(ReduceMax[axes=[1]](x)) = ReduceMax[axes=[1]](Relu(x))"));
}

TEST(Enumeration, IsTheSameForASeed) {
  EXPECT_EQ(PairsOf(SmallUniverse(), 2), PairsOf(SmallUniverse(), 2));
}

}  // namespace
}  // namespace quotient::generate
