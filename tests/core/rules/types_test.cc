#include "core/rules/types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace quotient::rules {
namespace {

using model::Dim;
using model::Shape;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

using Group = std::vector<int64_t>;

Dim S(absl::string_view name) { return Dim::Symbol(name); }

TEST(GroupAxesTest, MultipliesNumbersAndSymbols) {
  EXPECT_THAT(GroupAxes({2, 3, 4}, {6, 4}), Optional(ElementsAre(Group{0, 1}, Group{2})));
  EXPECT_THAT(GroupAxes({S("N"), S("S"), 8}, {S("?(N*S)"), 8}),
              Optional(ElementsAre(Group{0, 1}, Group{2})));
  EXPECT_THAT(GroupAxes({S("N"), 4, S("S"), 8}, {S("?(4*N)"), S("?(8*S)")}),
              Optional(ElementsAre(Group{0, 1}, Group{2, 3})));
  EXPECT_THAT(GroupAxes({4, S("N")}, {4, S("N")}), Optional(ElementsAre(Group{0}, Group{1})));
}

TEST(GroupAxesTest, OnesBelongToWhatIsBehindThemOrToTheLastGroup) {
  EXPECT_THAT(GroupAxes({S("N"), 1, 8}, {S("N"), 8}), Optional(ElementsAre(Group{0}, Group{1, 2})));
  EXPECT_THAT(GroupAxes({S("N"), 8, 1, 1}, {S("N"), 8}),
              Optional(ElementsAre(Group{0}, Group{1, 2, 3})));
}

TEST(GroupAxesTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(GroupAxes({2, 6}, {4, 3}), Eq(std::nullopt));
  EXPECT_THAT(GroupAxes({S("N"), S("S")}, {S("?(S*T)")}), Eq(std::nullopt));
  EXPECT_THAT(GroupAxes({S("S"), S("N")}, {S("N"), S("S")}), Eq(std::nullopt));
  EXPECT_THAT(GroupAxes({Dim(), 4}, {Dim(), 4}), Eq(std::nullopt));
  EXPECT_THAT(GroupAxes({0, 4}, {0, 4}), Eq(std::nullopt));
  EXPECT_THAT(GroupAxes({4}, {4, 1}), Eq(std::nullopt));
}

}  // namespace
}  // namespace quotient::rules
