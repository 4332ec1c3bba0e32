#include "core/extract/instance.h"

#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <vector>

#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::CaseFusion;
using ::quotient::testing::CaseNode;
using ::quotient::testing::ExtractionCase;

TEST(Instance, CountsHowOftenEachChildOccurs) {
  const ExtractionCase example(3, {{0, 1, {}}, {1, 1, {}}, {2, 1, {1, 0, 1, 1}}}, {2, 2});
  const Instance instance = *MakeInstance(example.problem());
  ASSERT_EQ(instance.roots.size(), 1);
  const Node root = instance.nodes[instance.roots[0].value()][0];
  const std::span<const Class> children = instance.children[root.value()];
  ASSERT_EQ(children.size(), 2);
  EXPECT_EQ(instance.class_id[children[0].value()], example.id(1));
  EXPECT_EQ(instance.class_id[children[1].value()], example.id(0));
  EXPECT_EQ(instance.multiplicity[root.value()][0], 3);
  EXPECT_EQ(instance.multiplicity[root.value()][1], 1);
}

TEST(Instance, ARootWithoutUsableENodesHasNoSelection) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const ExtractionCase example(1, {{0, kNever, {}}}, {0});
  EXPECT_EQ(MakeInstance(example.problem()).status().code(), absl::StatusCode::kNotFound);
  for (const Extractor* extractor : AllExtractors()) {
    const auto selection = extractor->Extract(example.problem(), StopCondition());
    EXPECT_EQ(selection.status().code(), absl::StatusCode::kNotFound) << extractor->name();
  }
}

// Minutes if it were quadratic in the children of one e-node.
TEST(Instance, WideENodesTakeLinearTime) {
  constexpr size_t kWidth = 200'000;
  std::vector<CaseNode> nodes = {{0, 1, {}}, {1, 1, {0}}};
  std::vector<CaseFusion> fusions;
  for (size_t i = 2; i < kWidth; ++i) {
    nodes.push_back({i, 1, {0}});
    nodes[1].children.push_back(i);
    fusions.push_back({i, 0, 1e-6});
  }
  const ExtractionCase plain(kWidth, nodes, {1});
  EXPECT_EQ(MakeInstance(plain.problem())->num_nodes(), kWidth);
  const ExtractionCase fusing(kWidth, nodes, {1}, fusions);
  // Each e-node alone and as the epilogue of what all have in common, which is once more inside.
  EXPECT_EQ(MakeInstance(fusing.problem())->num_nodes(), kWidth + 2 * (kWidth - 2));
}

}  // namespace
}  // namespace quotient::extract
