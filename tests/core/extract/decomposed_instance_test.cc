#include "core/extract/decomposed_instance.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

#include "core/base/rng.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::CaseNode;
using ::quotient::testing::ExtractionCase;

TEST(DecomposedInstance, OffersEachNodeInOneBag) {
  int offered = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::RandomWithFusions(rng, 20);
    const auto instance = MakeInstance(example.problem());
    if (!instance.ok()) continue;
    const auto decomposed = DecomposedInstance::Make(*instance, 31, StopCondition());
    if (!decomposed.has_value()) continue;
    std::vector<int> times(instance->num_nodes(), 0);
    for (uint32_t i = 0; i < decomposed->num_bags(); ++i) {
      const Bag bag = decomposed->DescribeBag(i);
      for (const Offers& offers : bag.classes) {
        EXPECT_TRUE(std::has_single_bit(offers.of));
        for (const Offer& offer : offers.offers) {
          ++times[offer.node.value()];
          ++offered;
          EXPECT_EQ(offer.needs & offers.of, 0);
          EXPECT_EQ(offer.computes & ~bag.exclusive, 0);
        }
      }
    }
    for (const int each : times) EXPECT_LE(each, 1);
  }
  EXPECT_GT(offered, 3000);
}

// The root has both 1 and 2 below whatever it takes, and 3 costs nothing: only 4 is asked for.
TEST(DecomposedInstance, NobodyAsksForWhatIsThereInAnyCase) {
  const ExtractionCase example(5,
                               {{0, 1, {1, 3}},
                                {0, 1, {2, 4}},
                                {1, 1, {2}},
                                {2, 1, {1}},
                                {2, 5, {}},
                                {1, 5, {}},
                                {3, 0, {}},
                                {4, 1, {}}},
                               {0, 1, 2});
  const Instance instance = *MakeInstance(example.problem());
  const auto decomposed = DecomposedInstance::Make(instance, 31, StopCondition());
  ASSERT_TRUE(decomposed.has_value());
  std::multiset<int> asked_by_nodes_of_root;
  int in_cycle = 0, required = 0;
  for (uint32_t i = 0; i < decomposed->num_bags(); ++i) {
    const Bag bag = decomposed->DescribeBag(i);
    required += bag.required != 0;
    for (const Offers& offers : bag.classes) {
      for (const Offer& offer : offers.offers) {
        const bool of_root = instance.class_of[offer.node.value()] == instance.roots[0];
        if (of_root) asked_by_nodes_of_root.insert(std::popcount(offer.needs));
        in_cycle += offer.leads_to != 0;
      }
    }
  }
  EXPECT_EQ(asked_by_nodes_of_root, (std::multiset<int>{0, 1}));
  EXPECT_EQ(in_cycle, 2);
  EXPECT_EQ(required, 3);
}

// Ten classes that need each other in pairs have to be in one bag.
TEST(DecomposedInstance, GivesUpWhereTooManyClassesCanBeOnCycles) {
  const auto make = [](size_t num_classes) {
    std::vector<CaseNode> nodes;
    for (size_t a = 0; a < num_classes; ++a) {
      nodes.push_back({a, 9, {}});
      for (size_t b = 0; b < num_classes; ++b) {
        if (a != b) nodes.push_back({a, 1, {b}});
      }
    }
    const ExtractionCase example(num_classes, nodes, {0});
    const Instance instance = *MakeInstance(example.problem());
    return DecomposedInstance::Make(instance, 31, StopCondition()).has_value();
  };
  EXPECT_TRUE(make(PathMatrix::kPlaces));
  EXPECT_FALSE(make(PathMatrix::kPlaces + 1));
}

}  // namespace
}  // namespace quotient::extract
