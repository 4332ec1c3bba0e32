#include "core/extract/partial_selections.h"

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/extract/instance.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

constexpr TableLimits kNoLimits = {1e9, 1 << 20, 1 << 20};

TEST(TableBuilder, KeepsTheCheapestOfWhatLooksTheSame) {
  const StopCondition stop;
  Traces traces;
  TableBuilder builder(kNoLimits, stop, traces);
  const Partial from;
  builder.Extend({.needed = 1}, from, Node(0), 5);
  builder.Extend({.needed = 1}, from, Node(1), 3);
  builder.Extend({.needed = 1}, from, Node(2), 4);
  const Table table = builder.Finish();
  ASSERT_EQ(table.size(), 1);
  EXPECT_EQ(table[0].cost, 3);
  EXPECT_TRUE(builder.Finish().empty());
}

TEST(TableBuilder, DropsWhatSomethingCheaperCovers) {
  const StopCondition stop;
  Traces traces;
  TableBuilder builder(kNoLimits, stop, traces);
  const Partial from;
  const Interface cheap = {.needed = 0b0010, .provided = 0b0001};
  builder.Extend(cheap, from, Node(0), 1);
  builder.Extend({.needed = 0b0010}, from, Node(1), 2);                           // provides less
  builder.Extend({.needed = 0b0110, .provided = 0b0001}, from, Node(2), 2);       // needs more
  builder.Extend({cheap.needed, cheap.provided, /*paths=*/2}, from, Node(3), 2);  // more paths
  builder.Extend({.needed = 0b0100}, from, Node(4), 1.5);                         // something else
  builder.Extend({.provided = 0b0001}, from, Node(5), 2);                         // needs less
  const Table table = builder.Finish();
  ASSERT_EQ(table.size(), 3);
  EXPECT_EQ(table[0].interface, cheap);
  EXPECT_EQ(table[1].interface, (Interface{.needed = 0b0100}));
  EXPECT_EQ(table[2].interface, (Interface{.provided = 0b0001}));
}

TEST(TableBuilder, KeepsToItsLimits) {
  const StopCondition stop;
  Traces traces;
  TableBuilder dear({.cutoff = 5, .max_entries = 9, .max_candidates = 99}, stop, traces);
  EXPECT_TRUE(dear.Consider(4));
  EXPECT_FALSE(dear.Consider(5));
  EXPECT_FALSE(dear.failed());
  TableBuilder large({.cutoff = 5, .max_entries = 2, .max_candidates = 99}, stop, traces);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(large.failed());
    large.Keep({.needed = 1u << i}, {});
  }
  EXPECT_TRUE(large.failed());
  TableBuilder many({.cutoff = 5, .max_entries = 9, .max_candidates = 2}, stop, traces);
  EXPECT_TRUE(many.Consider(0) && many.Consider(0));
  EXPECT_FALSE(many.Consider(0));
  EXPECT_TRUE(many.failed());
}

TEST(TableBuilder, AsksTheStopCondition) {
  CancelToken token;
  token.Cancel();
  const StopCondition stop(&token);
  Traces traces;
  TableBuilder builder({.cutoff = 5, .max_entries = 9, .max_candidates = 1 << 20}, stop, traces);
  int considered = 0;
  while (builder.Consider(0)) ++considered;
  EXPECT_TRUE(builder.failed());
  EXPECT_LT(considered, 1 << 14);
}

// A long random history: what each entry has chosen is what it was, however often is forgotten.
TEST(Traces, TellWhatWasChosenAfterTheRestIsForgotten) {
  constexpr size_t kClasses = 60;
  std::vector<testing::CaseNode> nodes;
  for (size_t i = 0; i < kClasses; ++i) {
    std::vector<size_t> next;
    if (i + 1 < kClasses) next.push_back(i + 1);
    nodes.push_back({i, 1, next});
    nodes.push_back({i, 2, next});
  }
  const testing::ExtractionCase example(kClasses, nodes, {0});
  const Instance instance = *MakeInstance(example.problem());
  Rng rng(3);
  Traces traces;
  using Choices = std::vector<Node>;
  std::vector<Table> tables = {Table(40), Table(40)};
  std::vector<std::vector<Choices>> expected(2, std::vector<Choices>(40, Choices(kClasses)));
  for (int step = 0; step < 300'000; ++step) {
    const uint64_t table = rng.Below(2), to = rng.Below(40), from = rng.Below(40);
    const Node node(static_cast<uint32_t>(rng.Below(instance.num_nodes())));
    const uint32_t id = instance.class_of[node.value()].value();
    if (expected[table][from][id].valid()) {
      tables[table][to] = Partial();
      expected[table][to].assign(kClasses, Node());
      continue;
    }
    tables[table][to].trace = traces.Extend(tables[table][from].trace, node);
    expected[table][to] = expected[table][from];
    expected[table][to][id] = node;
    if (step % 1000 == 0) traces.ForgetUnused(tables);
  }
  for (size_t table = 0; table < 2; ++table) {
    for (size_t i = 0; i < 40; ++i) {
      Choices choice(kClasses);
      traces.WriteChoice(tables[table][i].trace, instance, choice);
      EXPECT_EQ(choice, expected[table][i]);
    }
  }
}

}  // namespace
}  // namespace quotient::extract
