#include "core/extract/needed.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

#include "core/base/rng.h"
#include "core/extract/blocks.h"
#include "core/extract/components.h"
#include "core/extract/extract.h"
#include "core/extract/requirements.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::CaseNode;
using ::quotient::testing::ExtractionCase;

// Whether each of the case's classes is found to be needed; nullopt for those that are not in the
// instance.
std::vector<std::optional<bool>> NeededOf(const ExtractionCase& example, size_t num_classes) {
  const Instance instance = *MakeInstance(example.problem());
  const std::vector<bool> needed = FindNeeded(instance);
  std::vector<std::optional<bool>> of_case(num_classes);
  for (size_t i = 0; i < num_classes; ++i) {
    for (uint32_t id = 0; id < instance.num_classes(); ++id) {
      if (instance.class_id[id] == example.id(i)) of_case[i] = needed[id];
    }
  }
  return of_case;
}

TEST(FindNeeded, FindsWhatAllAlternativesNeed) {
  constexpr size_t kRoot = 0, kA = 1, kB = 2, kShared = 3, kLeaf = 4;
  const ExtractionCase example(5,
                               {{kRoot, 1, {kA}},
                                {kRoot, 1, {kB}, 1},
                                {kA, 1, {kShared}},
                                {kB, 1, {kShared}},
                                {kShared, 1, {kLeaf}},
                                {kShared, 1, {}, 1},
                                {kLeaf, 1, {}}},
                               {kRoot});
  EXPECT_EQ(NeededOf(example, 5),
            (std::vector<std::optional<bool>>{true, false, false, true, false}));
}

TEST(FindNeeded, LeavesOutCyclesAndWhatIsFreeOrMadeByRules) {
  constexpr size_t kRoot = 0, kBack = 1, kForth = 2, kMade = 3, kFree = 4, kSelf = 5;
  const ExtractionCase example(6,
                               {{kRoot, 1, {kBack, kMade, kFree, kSelf}},
                                {kBack, 1, {}},
                                {kBack, 1, {kForth}},
                                {kForth, 1, {kBack}},
                                {kMade, 1, {}, 1},
                                {kFree, 0, {}},
                                {kSelf, 1, {}},
                                {kSelf, 1, {kSelf}}},
                               {kRoot});
  EXPECT_EQ(NeededOf(example, 6),
            (std::vector<std::optional<bool>>{true, false, false, false, false, true}));
}

TEST(FindNeeded, ExaminesMoreThanFitsIntoOnePass) {
  constexpr size_t kDepth = 600;
  std::vector<CaseNode> nodes = {{0, 1, {}}};
  for (size_t i = 1; i < kDepth; ++i) nodes.push_back({i, 1, {i - 1}});
  const ExtractionCase example(kDepth, nodes, {kDepth - 1});
  EXPECT_EQ(NeededOf(example, kDepth), std::vector<std::optional<bool>>(kDepth, true));
}

TEST(FindNeeded, IsWhatRequirementsSay) {
  size_t num_needed = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = seed % 2 == 0 ? ExtractionCase::Random(rng, 60)
                                                 : ExtractionCase::RandomWithFusions(rng, 60);
    const absl::StatusOr<Instance> instance = MakeInstance(example.problem());
    if (!instance.ok()) continue;
    const std::vector<bool> needed = FindNeeded(*instance);
    const auto required = Requirements::Compute(*instance, {})->OfRoots();
    const std::vector<uint32_t> component = StrongComponents(*instance);
    std::map<uint32_t, int> size;
    for (const uint32_t each : component) ++size[each];
    for (uint32_t id = 0; id < needed.size(); ++id) {
      if (!needed[id]) continue;
      ++num_needed;
      EXPECT_TRUE(Requirements::Has(required, Class(id)));
      EXPECT_EQ(size[component[id]], 1);
    }
  }
  EXPECT_GT(num_needed, 400);
}

// Two layers over one value, which keep it from being below either. Once it is known to be needed
// they are blocks of their own.
TEST(Blocks, AreCutApartFromWhatIsNeeded) {
  constexpr size_t kWidth = 20;
  constexpr size_t kRoot = 0, kShared = 1, kUpper = 2, kLower = 3, kFirstLeaf = 4;
  std::vector<CaseNode> nodes = {{kRoot, 1, {kUpper}}, {kShared, 1, {}}};
  size_t leaf = kFirstLeaf;
  for (size_t i = 0; i < kWidth; ++i) {
    nodes.push_back({kUpper, 1, {kShared, kLower, leaf}});
    nodes.push_back({leaf++, 1, {}});
    nodes.push_back({kLower, 1, {kShared, leaf}});
    nodes.push_back({leaf++, 1, {}});
  }
  const ExtractionCase example(leaf, nodes, {kRoot});
  const Instance instance = *MakeInstance(example.problem());
  EXPECT_EQ(Blocks(instance).size(), 2);  // The root, and all else.
  const Blocks blocks(instance, FindNeeded(instance));
  // Root, the shared value, and both layers.
  EXPECT_EQ(blocks.size(), 4);
}

}  // namespace
}  // namespace quotient::extract
