#include "core/extract/users.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "core/extract/extract.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::ExtractionCase;

// Each class that can use another one is found once, with the first of its cheapest e-nodes that
// do.
TEST(FindUsers, FindsTheCheapestWayOfEachClass) {
  constexpr size_t kRoot = 0, kA = 1, kB = 2, kShared = 3, kOther = 4;
  const ExtractionCase example(5,
                               {{kRoot, 1, {kA, kB}},
                                {kA, 7, {kShared}},
                                {kA, 3, {kShared, kOther}},
                                {kA, 3, {kShared}},
                                {kA, 1, {kOther}},
                                {kB, 5, {kShared}},
                                {kShared, 1, {}},
                                {kOther, 1, {}}},
                               {kRoot});
  const Instance instance = *MakeInstance(example.problem());
  const Users users = FindUsers(instance);
  ASSERT_EQ(users.num_keys(), instance.num_classes());
  const auto class_of = [&](size_t id) {
    for (uint32_t i = 0; i < instance.num_classes(); ++i) {
      if (instance.class_id[i] == example.id(id)) return Class(i);
    }
    return Class();
  };
  EXPECT_TRUE(users[class_of(kRoot).value()].empty());
  const auto of_shared = users[class_of(kShared).value()];
  ASSERT_EQ(of_shared.size(), 2u);
  EXPECT_EQ(of_shared[0].id, class_of(kA));
  EXPECT_EQ(of_shared[0].cheapest, instance.nodes[class_of(kA).value()][1]);
  EXPECT_EQ(of_shared[0].cost, 3);
  EXPECT_EQ(of_shared[1].id, class_of(kB));
  EXPECT_EQ(of_shared[1].cost, 5);
  const auto of_other = users[class_of(kOther).value()];
  ASSERT_EQ(of_other.size(), 1u);
  EXPECT_EQ(of_other[0].cheapest, instance.nodes[class_of(kA).value()][3]);
}

}  // namespace
}  // namespace quotient::extract
