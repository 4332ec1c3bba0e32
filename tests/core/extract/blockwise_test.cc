#include "core/extract/blockwise.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/base/rng.h"
#include "core/extract/block_memory.h"
#include "core/extract/block_outline.h"
#include "core/extract/blocks.h"
#include "core/extract/extract.h"
#include "core/extract/needed.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::CaseNode;
using ::quotient::testing::ExtractionCase;

// Layers on top of each other, each a class of `width` alternatives that all use the layer below
// and each a leaf of its own, which is how much dearer than the first one is told by `step`.
class Layers {
 public:
  explicit Layers(size_t width) : width_(width) { nodes_.push_back({0, 1, {}}); }

  void Add(double cost, double step) {
    const size_t below = top_;
    top_ = num_classes_++;
    for (size_t i = 0; i < width_; ++i) {
      const size_t leaf = num_classes_++;
      nodes_.push_back({top_, cost, {below, leaf}});
      nodes_.push_back({leaf, 1 + step * static_cast<double>(i), {}});
    }
  }
  void Add(const CaseNode& node) { nodes_.push_back(node); }
  size_t top() const { return top_; }
  ExtractionCase Make() const { return ExtractionCase(num_classes_, nodes_, {top_}); }

 private:
  const size_t width_;
  std::vector<CaseNode> nodes_;
  size_t num_classes_ = 1;
  size_t top_ = 0;
};

constexpr size_t kWidth = 20;

// The contents of all blocks. What is below a block costs `below`.
std::vector<SequenceHash::Value> ContentsOf(const ExtractionCase& example, double below = 1) {
  const Instance instance = *MakeInstance(example.problem());
  const Blocks blocks(instance);
  BlockOutlines outlines(instance, blocks);
  const std::vector<double> cost(blocks.size(), below);
  std::vector<SequenceHash::Value> contents;
  for (size_t i = 0; i < blocks.size(); ++i) contents.push_back(outlines.Of(i, cost).content);
  return contents;
}

TEST(BlockOutlines, NumberClassesAsTheBlocksInstanceDoes) {
  size_t num_instances = 0, num_blocks = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = seed % 2 == 0 ? ExtractionCase::RandomWithFusions(rng, 80)
                                                 : ExtractionCase::RandomWithSharedKernels(rng, 80);
    const absl::StatusOr<Instance> instance = MakeInstance(example.problem());
    if (!instance.ok()) continue;
    Blocks blocks(*instance, FindNeeded(*instance));
    BlockOutlines outlines(*instance, blocks);
    const std::vector<double> cost(blocks.size(), 1);
    for (size_t i = 0; i < blocks.size(); ++i) {
      const Instance block = blocks.Make(i, cost);
      const BlockOutline& outline = outlines.Of(i, cost);
      ASSERT_EQ(outline.classes.size(), block.num_classes());
      for (uint32_t id = 0; id < block.num_classes(); ++id) {
        const Class of_whole = outline.classes[id];
        EXPECT_EQ(instance->class_id[of_whole.value()], block.class_id[id]);
        const bool member = blocks.block_of(of_whole) == i;
        EXPECT_EQ(block.nodes[id].size(), member ? instance->nodes[of_whole.value()].size() : 1);
      }
    }
    ++num_instances;
    num_blocks += blocks.size();
  }
  EXPECT_GT(num_blocks, num_instances);
}

TEST(BlockOutlines, EqualLayersAreEqual) {
  Layers layers(kWidth);
  layers.Add(1, 2);  // Lies on a leaf that is not free, so it has one class more.
  layers.Add(1, 1);
  layers.Add(1, 1);
  layers.Add(1, 1);
  const auto contents = ContentsOf(layers.Make());
  ASSERT_EQ(contents.size(), 4u);
  EXPECT_NE(contents[0], contents[1]);
  EXPECT_EQ(contents[1], contents[2]);
  EXPECT_EQ(contents[2], contents[3]);
  EXPECT_NE(contents[3], ContentsOf(layers.Make(), /*below=*/2)[3]);
}

TEST(BlockOutlines, WhatDecidesAnExtractionIsPartOfTheContent) {
  const auto content_with = [](const CaseNode& more) {
    Layers layers(kWidth);
    layers.Add(1, 1);
    layers.Add(more);
    return ContentsOf(layers.Make()).back();
  };
  constexpr size_t kTop = 1, kLeaf = 2, kOtherLeaf = 4;
  const std::vector<CaseNode> different = {
      {kTop, 1, {kLeaf}},         // An e-node.
      {kTop, 2, {kLeaf}},         // Its cost,
      {kTop, 1, {kOtherLeaf}},    // its child,
      {kTop, 1, {kLeaf, kLeaf}},  // how often it is used,
      {kTop, 1, {}},              // whether there is one,
      {kTop, 1, {kLeaf}, 1},      // and whether a rule made the e-node.
      {kLeaf, 1, {}},
  };
  std::set<SequenceHash::Value> contents;
  for (const CaseNode& each : different) contents.insert(content_with(each));
  EXPECT_EQ(contents.size(), different.size());
}

Selection ChosenAgain(const ExtractionCase& example, BlockMemory& memory,
                      const StopCondition& stop = {}) {
  return *FindExtractor("dag")->ExtractAgain(example.problem(), memory, stop);
}

// One memory for thousands of problems, in which parts of a few e-nodes are often equal.
TEST(ChooseBlockwise, AnswersTheSameWhateverWasSeenBefore) {
  BlockMemory memory;
  int solvable = 0;
  for (uint64_t seed = 0; seed < 1'500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const size_t classes = 5 + seed % 60;
    const ExtractionCase example = seed % 3 == 0 ? ExtractionCase::Random(rng, classes)
                                   : seed % 3 == 1
                                       ? ExtractionCase::RandomWithFusions(rng, classes)
                                       : ExtractionCase::RandomWithSharedKernels(rng, classes);
    const absl::StatusOr<Selection> fresh = FindExtractor("dag")->Extract(example.problem(), {});
    if (!fresh.ok()) {
      EXPECT_FALSE(FindExtractor("dag")->ExtractAgain(example.problem(), memory, {}).ok());
      continue;
    }
    ++solvable;
    for (int again = 0; again < 2; ++again) {
      const Selection known = ChosenAgain(example, memory);
      EXPECT_EQ(known.cost, fresh->cost);
      EXPECT_EQ(known.choice, fresh->choice);
    }
  }
  EXPECT_GT(solvable, 700);
}

// Layers in which local search gains something over the choice of least tree cost: the merged
// operator pays if all users of the layer below take it. The lowest layer reads a leaf of cost 1.
ExtractionCase MergedLayers(size_t count, double cost_of_merged = 4) {
  constexpr size_t kUsers = 15;
  std::vector<CaseNode> nodes = {{0, 1, {}}};
  size_t below = 0, next = 1;
  for (size_t layer = 0; layer < count; ++layer) {
    const size_t merged = next++, sum = next++;
    nodes.push_back({merged, cost_of_merged, {below}});
    CaseNode total = {sum, 1, {}};
    for (size_t i = 0; i < kUsers; ++i) {
      nodes.push_back({next, 3, {below}});
      nodes.push_back({next, 0, {merged}});
      total.children.push_back(next++);
    }
    nodes.push_back(total);
    below = sum;
  }
  return ExtractionCase(next, nodes, {below});
}

StopCondition AtOnce() {
  static const CancelToken* const cancelled = [] {
    auto* const token = new CancelToken;
    token->Cancel();
    return token;
  }();
  return StopCondition(cancelled);
}

TEST(ChooseBlockwise, WhatIsKnownTakesNoSearch) {
  BlockMemory memory;
  EXPECT_EQ(ChosenAgain(MergedLayers(1), memory, AtOnce()).cost, 47);
  // What was cut short is not remembered.
  EXPECT_EQ(ChosenAgain(MergedLayers(1), memory).cost, 6);
  EXPECT_EQ(ChosenAgain(MergedLayers(1), memory, AtOnce()).cost, 6);
  EXPECT_EQ(ChosenAgain(MergedLayers(1, /*cost_of_merged=*/5), memory, AtOnce()).cost, 47);
}

// All layers above the first are equal blocks, so one of them is searched.
TEST(ChooseBlockwise, OneLayerIsKnownFromAnother) {
  BlockMemory memory;
  EXPECT_EQ(ChosenAgain(MergedLayers(2), memory).cost, 11);
  EXPECT_EQ(ChosenAgain(MergedLayers(9), memory, AtOnce()).cost, 46);
}

TEST(BlockMemory, ForgetsRatherThanGrowWithoutEnd) {
  constexpr size_t kLarge = 1 << 20;
  BlockMemory memory;
  for (uint64_t key = 0; key < 6; ++key) {
    memory.Remember(key, {std::vector<uint32_t>(kLarge, 0), 1.0});
    ASSERT_NE(memory.Find(key), nullptr);
  }
  EXPECT_EQ(memory.Find(0), nullptr);
}

}  // namespace
}  // namespace quotient::extract
