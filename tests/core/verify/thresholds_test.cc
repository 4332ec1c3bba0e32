#include "core/verify/thresholds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/support/graphs.h"

namespace quotient::verify {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(FindThresholds, AttributesAndSmallConstants) {
  const Thresholds thresholds = FindThresholds(testing::MustParse(R"(graph g {
      input x: float32[4]
      input i: int64[4]
      const low: float32[] = [-2.5]
      const mask: float32[] = [-1e9]
      const large: int64[] = [9223372036854775807]
      const weights: float32[8] = [1,2,3,4,5,6,7,8]
      a = LeakyRelu(x) {alpha=0.25}
      b = Max(a, low)
      c = Add(b, mask)
      e = Equal(i, large)
      output c, e })"));
  EXPECT_THAT(thresholds.floats, ElementsAre(-2.5, 0.25));
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(thresholds.integers, ElementsAre(kLargest - 1, kLargest));
}

TEST(FindThresholds, WholeFloatsAreThresholdsOfIntegersToo) {
  const Thresholds thresholds = FindThresholds(testing::MustParse(R"(graph g {
      input i: int64[4]
      const limit: float32[] = [77]
      f = Cast(i) {to=1}
      y = Less(f, limit)
      output y })"));
  EXPECT_THAT(thresholds.integers, ElementsAre(76, 77, 78));
}

TEST(FindThresholds, OfManyNumbersSomeAreTaken) {
  std::string text = "graph g { input i: int64[1]\n";
  for (int k = 1; k <= 200; ++k) {
    absl::StrAppend(&text, "const k", k, ": int64[1] = [", 10 * k, "] y", k, " = Add(i, k", k,
                    ")\n");
  }
  const Thresholds thresholds = FindThresholds(testing::MustParse(text + "output y1 }"));
  EXPECT_THAT(thresholds.integers, AllOf(SizeIs(3 * 64), Contains(10), Contains(2000)));
}

TEST(DifferingRows, AreThoseOfTablesWithOneType) {
  const auto graph = [](absl::string_view table, absl::string_view beside) {
    return testing::MustParse(absl::StrCat(R"(graph g {
        input i: int64[2]
        const t: float32[4,2] = )",
                                           table, R"(
        const u: float32[4,2] = )",
                                           beside, R"(
        a = Gather(t, i) {axis=0}
        b = Gather(u, i) {axis=0}
        output a, b })"));
  };
  constexpr char kTable[] = "[1,2,3,4,5,6,7,8]";
  constexpr char kChanged[] = "[1,2,3,4,5,7,7,9]";
  constexpr char kBeside[] = "[0,0,0,0,0,0,0,0]";
  EXPECT_THAT(DifferingRows(graph(kTable, kBeside), graph(kChanged, kBeside)), ElementsAre(2, 3));
  EXPECT_THAT(DifferingRows(graph(kTable, kBeside), graph(kBeside, kTable)), IsEmpty());
}

}  // namespace
}  // namespace quotient::verify
