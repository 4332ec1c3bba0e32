#include "core/egraph/grouped_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(GroupedList, KeepsTheOrderOfEachKey) {
  GroupedList<int> list(3);
  for (const uint32_t key : {2, 0, 2, 2}) list.Count(key);
  list.Allocate();
  list.Append(2, 20);
  list.Append(0, 5);
  list.Append(2, 21);
  list.Append(2, 19);
  EXPECT_THAT(list[0], ElementsAre(5));
  EXPECT_THAT(list[1], IsEmpty());
  EXPECT_THAT(list[2], ElementsAre(20, 21, 19));
}

TEST(GroupedList, IsEmptyBeyondItsKeys) {
  EXPECT_THAT(GroupedList<int>()[0], IsEmpty());
  GroupedList<int> list(1);
  list.Allocate();
  EXPECT_THAT(list[0], IsEmpty());
  EXPECT_THAT(list[1], IsEmpty());
}

}  // namespace
}  // namespace quotient::egraph
