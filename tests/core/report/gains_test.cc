#include "core/report/gains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A graph of which each node is a kernel of its own, with the cost that its operator has here.
class Priced {
 public:
  Priced(absl::string_view text, const std::map<std::string, double>& prices)
      : graph_(testing::MustParse(text)) {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const model::Node& node = graph_.nodes[n];
      kernels::KernelGroup group = {.nodes = {model::NodeId(static_cast<uint32_t>(n))},
                                    .operands = node.inputs,
                                    .results = node.outputs};
      group.spec.op = node.op;
      Add(std::move(group), prices.at(node.op));
    }
  }

  // Adds a change of a value's layout.
  Priced& Reorder(absl::string_view value, double us) {
    const model::ValueId id = testing::MustFind(graph_, value);
    kernels::KernelGroup group = {.operands = {id}, .results = {id}};
    group.spec.op = kernels::kReorderOp;
    Add(std::move(group), us);
    return *this;
  }

  // Kernels that a device made of a file: the second node runs inside of the first one's kernel,
  // and one kernel comes from no node.
  Priced& OfFile(double us_of_no_node) {
    for (kernels::KernelGroup& group : cost_.groups) group.operands = group.results = {};
    cost_.groups[0].nodes.push_back(cost_.groups[1].nodes[0]);
    cost_.total_us -= cost_.costs[1].us;
    cost_.groups.erase(cost_.groups.begin() + 1);
    cost_.costs.erase(cost_.costs.begin() + 1);
    Add({}, us_of_no_node);
    return *this;
  }

  Priced& ForgetKernel(ptrdiff_t index) {
    cost_.total_us -= cost_.costs[static_cast<size_t>(index)].us;
    cost_.groups.erase(cost_.groups.begin() + index);
    cost_.costs.erase(cost_.costs.begin() + index);
    return *this;
  }

  CostedGraph View() const { return {graph_, cost_}; }
  double total_us() const { return cost_.total_us; }
  cost::GraphCost& cost() { return cost_; }

 private:
  void Add(kernels::KernelGroup group, double us) {
    cost_.groups.push_back(std::move(group));
    cost_.costs.push_back({.us = us, .source = cost::CostSource::kMeasured});
    cost_.total_us += us;
  }

  model::Graph graph_;
  cost::GraphCost cost_;
};

JournalEntry Entry(std::vector<std::string> steps, std::vector<std::string> values) {
  JournalEntry entry = {.rule = steps.back(), .steps = steps};
  entry.values = std::move(values);
  return entry;
}

double SumOf(const Gains& gains) {
  double us = gains.others_us;
  for (const RuleGain& gain : gains.by_rules) us += gain.saved_us();
  return us;
}

// "3 Exp, 1 Tanh" as the kernels on one side of a region.
std::string Text(const std::vector<KernelTally>& tallies) {
  std::string text;
  for (const KernelTally& tally : tallies) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", tally.count, " ", tally.ops);
  }
  return text;
}

// Two places are rewritten, and between them a kernel stays.
TEST(GainsTest, ARegionEndsAtValuesThatBothGraphsHave) {
  const std::map<std::string, double> prices = {
      {"Exp", 3}, {"Log", 4}, {"Tanh", 5}, {"Sin", 1}, {"Cos", 2}};
  const Priced before(R"(graph g {
    input x: float32[4]
    a = Exp(x) @first
    b = Log(a)
    c = Tanh(b)
    d = Exp(c) @last
    output d
  })",
                      prices);
  const Priced after(R"(graph g {
    input x: float32[4]
    s = Sin(x)
    c = Tanh(s)
    d = Cos(c)
    output d
  })",
                     prices);
  const std::vector<JournalEntry> journal = {Entry({"one", "two"}, {"b"}), Entry({"three"}, {"d"})};
  const Gains gains = GainsOf(before.View(), after.View(), {{"s", "b"}}, journal);
  ASSERT_EQ(gains.by_rules.size(), 2u);
  const RuleGain& most = gains.by_rules[0];
  EXPECT_THAT(most.rules, ElementsAre("one", "two"));
  ASSERT_EQ(most.regions.size(), 1u);
  EXPECT_EQ(Text(most.regions[0].before), "1 Exp, 1 Log");
  EXPECT_EQ(Text(most.regions[0].after), "1 Sin");
  EXPECT_EQ(most.saved_us(), 6);
  EXPECT_THAT(most.regions[0].sites, ElementsAre("b")) << "where it costs most";
  EXPECT_THAT(gains.by_rules[1].rules, ElementsAre("three"));
  EXPECT_THAT(gains.by_rules[1].regions[0].sites, ElementsAre("last"));
  EXPECT_EQ(gains.by_rules[1].saved_us(), 1);
  EXPECT_EQ(gains.others_us, 0);
  EXPECT_EQ(SumOf(gains), before.total_us() - after.total_us());
}

TEST(GainsTest, KernelsThatADeviceMadeOfAFileAreKnownByTheirNodes) {
  const std::map<std::string, double> prices = {{"Exp", 3}, {"Log", 4}, {"Tanh", 5}, {"Sin", 1}};
  Priced before(R"(graph g {
    input x: float32[4]
    a = Exp(x) @first
    b = Log(a)
    c = Tanh(b)
    output c
  })",
                prices);
  Priced after(R"(graph g {
    input x: float32[4]
    a = Sin(x)
    b = Log(a)
    c = Tanh(b)
    output c
  })",
               prices);
  before.OfFile(0.5);
  after.OfFile(0.25);
  const std::vector<JournalEntry> journal = {Entry({"one"}, {"b"})};
  const Gains gains = GainsOf(before.View(), after.View(), {}, journal);
  ASSERT_EQ(gains.by_rules.size(), 1u);
  EXPECT_THAT(gains.by_rules[0].rules, ElementsAre("one"));
  EXPECT_EQ(gains.by_rules[0].saved_us(), 2);
  EXPECT_EQ(gains.others_us, 0.25);
  EXPECT_EQ(SumOf(gains), before.total_us() - after.total_us());
}

// ONNX Runtime tells of a fused kernel only the node whose value it computes.
TEST(GainsTest, ANodeOfWhichNoKernelIsKnownConnectsTheKernelsAroundIt) {
  const std::map<std::string, double> prices = {{"Exp", 3}, {"Log", 0}, {"Add", 5}, {"Sin", 4}};
  Priced before(R"(graph g {
    input x: float32[4]
    a = Exp(x)
    b = Log(a)
    y = Add(b, x)
    output y
  })",
                prices);
  before.ForgetKernel(1);
  const Priced after("graph g { input x: float32[4]\n y = Sin(x)\n output y }", prices);
  const Gains gains = GainsOf(before.View(), after.View(), {}, std::vector{Entry({"one"}, {"y"})});
  ASSERT_EQ(gains.by_rules.size(), 1u);
  EXPECT_THAT(gains.by_rules[0].rules, ElementsAre("one"));
  ASSERT_EQ(gains.by_rules[0].regions.size(), 1u);
  EXPECT_EQ(Text(gains.by_rules[0].regions[0].before), "1 Exp, 1 Add");
  EXPECT_EQ(gains.by_rules[0].saved_us(), 4);
}

TEST(GainsTest, ARewriteOfNodesOfWhichNoKernelIsKnownIsNoRegion) {
  const std::map<std::string, double> prices = {{"Exp", 3}, {"Log", 0}, {"Sin", 0}};
  Priced before("graph g { input x: float32[4]\n a = Exp(x)\n y = Log(a)\n output y }", prices);
  Priced after("graph g { input x: float32[4]\n a = Exp(x)\n y = Sin(a)\n output y }", prices);
  before.ForgetKernel(1);
  after.ForgetKernel(1);
  const Gains gains = GainsOf(before.View(), after.View(), {}, std::vector{Entry({"one"}, {"y"})});
  EXPECT_THAT(gains.by_rules, IsEmpty());
  EXPECT_EQ(gains.others_us, 0);
}

TEST(GainsTest, EqualRegionsAreOneWithAllTheirPlaces) {
  const std::map<std::string, double> prices = {{"Exp", 3}, {"Tanh", 5}, {"Sin", 1}};
  const Priced before(R"(graph g {
    input x: float32[4]
    a = Exp(x)
    b = Tanh(a)
    c = Exp(b)
    d = Tanh(c)
    e = Exp(d)
    output e
  })",
                      prices);
  const Priced after(R"(graph g {
    input x: float32[4]
    p = Sin(x)
    b = Tanh(p)
    q = Sin(b)
    d = Tanh(q)
    e = Sin(d)
    output e
  })",
                     prices);
  // The last place was rewritten by other rules as well.
  const std::vector<JournalEntry> journal = {Entry({"one"}, {"a"}), Entry({"one"}, {"c"}),
                                             Entry({"two", "one"}, {"e"})};
  const Gains gains = GainsOf(before.View(), after.View(), {{"p", "a"}, {"q", "c"}}, journal);
  ASSERT_EQ(gains.by_rules.size(), 2u);
  EXPECT_EQ(gains.by_rules[0].saved_us(), 4);
  ASSERT_EQ(gains.by_rules[0].regions.size(), 1u);
  EXPECT_THAT(gains.by_rules[0].regions[0].sites, ElementsAre("a", "c"));
  EXPECT_EQ(Text(gains.by_rules[0].regions[0].before), "2 Exp");
  EXPECT_THAT(gains.by_rules[1].rules, ElementsAre("two", "one"));
  EXPECT_EQ(SumOf(gains), before.total_us() - after.total_us());
}

// Three products of one operand become one that is divided.
TEST(GainsTest, KernelsThatTogetherMakeWhatOthersMadeAreOneRegion) {
  const std::map<std::string, double> prices = {{"MatMul", 10}, {"Split", 2}, {"Concat", 1}};
  const Priced before(R"(graph g {
    input x: float32[4,4]
    const u: float32[4,4] = random(1)
    const v: float32[4,4] = random(2)
    a = MatMul(x, u)
    b = MatMul(x, v)
    y = Concat(a, b) {axis=1}
    output y
  })",
                      prices);
  const Priced after(R"(graph g {
    input x: float32[4,4]
    const w: float32[4,8] = random(3)
    p = MatMul(x, w)
    (a, b) = Split(p) {axis=1}
    y = Concat(a, b) {axis=1}
    output y
  })",
                     prices);
  const Gains gains = GainsOf(before.View(), after.View(), {}, {});
  ASSERT_EQ(gains.by_rules.size(), 1u);
  EXPECT_THAT(gains.by_rules[0].rules, IsEmpty());
  EXPECT_EQ(Text(gains.by_rules[0].regions[0].before), "2 MatMul");
  EXPECT_EQ(Text(gains.by_rules[0].regions[0].after), "1 MatMul, 1 Split");
  EXPECT_EQ(SumOf(gains), 8);
}

// Nothing takes the place of a kernel whose value another one makes already.
TEST(GainsTest, WhatVanishedIsARegion) {
  const std::map<std::string, double> prices = {{"Exp", 3}, {"Tanh", 5}, {"Add", 1}};
  const Priced before(R"(graph g {
    input x: float32[4]
    a = Exp(x)
    b = Exp(x) @again
    y = Add(a, b)
    output y
  })",
                      prices);
  const Priced after(R"(graph g {
    input x: float32[4]
    a = Exp(x)
    y = Add(a, a)
    output y
  })",
                     prices);
  const Gains gains = GainsOf(before.View(), after.View(), {{"b", "a"}}, {});
  ASSERT_EQ(gains.by_rules.size(), 1u);
  EXPECT_THAT(gains.by_rules[0].regions[0].sites, ElementsAre("again"));
  EXPECT_THAT(gains.by_rules[0].regions[0].after, IsEmpty());
  EXPECT_EQ(SumOf(gains), 3);
}

TEST(GainsTest, AChangeOfLayoutBelongsToTheRegionThatWantsIt) {
  const std::map<std::string, double> prices = {{"Exp", 3}, {"Tanh", 5}, {"Sin", 1}};
  constexpr char kBefore[] = R"(graph g {
    input x: float32[1,4,2,2]
    a = Tanh(x)
    b = Exp(a)
    output b
  })";
  constexpr char kAfter[] = R"(graph g {
    input x: float32[1,4,2,2]
    a = Tanh(x)
    b = Sin(a)
    output b
  })";
  const Priced before(kBefore, prices);
  Priced after(kAfter, prices);
  after.Reorder("a", 0.5).Reorder("x", 0.25);
  const Gains gains = GainsOf(before.View(), after.View(), {}, {});
  ASSERT_EQ(gains.by_rules.size(), 1u);
  EXPECT_EQ(Text(gains.by_rules[0].regions[0].after), "1 Sin, 1 (change of memory layout)");
  EXPECT_EQ(gains.by_rules[0].saved_us(), 1.5);
  EXPECT_EQ(gains.others_us, -0.25) << "no region reads or makes x";
  EXPECT_EQ(SumOf(gains), before.total_us() - after.total_us());
}

TEST(GainsTest, KernelsOfBothGraphsMayCostAnotherTime) {
  const std::map<std::string, double> prices = {{"Exp", 3}, {"Tanh", 5}};
  constexpr char kText[] = R"(graph g {
    input x: float32[1,4,2,2]
    a = Tanh(x)
    b = Exp(a)
    output b
  })";
  const Priced before(kText, prices);
  Priced after(kText, {{"Exp", 2}, {"Tanh", 5.25}});
  // In another layout, among other constants, and as a view.
  kernels::KernelSpec& spec = after.cost().groups[0].spec;
  spec.inputs = {{.layout = kernels::Layout::kChannelsLast}};
  spec.constant_footprint_log2 = 20;
  spec.free = true;
  Priced plain = before;
  plain.cost().groups[0].spec.inputs.resize(1);
  const Gains gains = GainsOf(plain.View(), after.View(), {}, {});
  EXPECT_THAT(gains.by_rules, IsEmpty());
  EXPECT_EQ(gains.others_us, 0.75);
}

TEST(GainsTest, AnEstimateMakesTheSumOne) {
  const std::map<std::string, double> prices = {{"Exp", 3}, {"Sin", 1}};
  const Priced before("graph g { input x: float32[4]\n y = Exp(x)\n output y }", prices);
  Priced after("graph g { input x: float32[4]\n y = Sin(x)\n output y }", prices);
  EXPECT_FALSE(GainsOf(before.View(), after.View(), {}, {}).by_rules[0].estimated);
  after.cost().costs[0].source = cost::CostSource::kModel;
  EXPECT_TRUE(GainsOf(before.View(), after.View(), {}, {}).by_rules[0].estimated);
}

}  // namespace
}  // namespace quotient::report
