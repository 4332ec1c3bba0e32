// What a conjecture is tried in: its own shapes, others, and other attributes of several operators
// at once.

#include "core/generate/instances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/model/text.h"
#include "tests/core/generate/small_universe.h"
#include "tests/support/status_matchers.h"

namespace quotient::generate {
namespace {

class InstancesTest : public ::testing::Test {
 protected:
  std::vector<model::Graph> GraphsOf(const std::string& term, const RuleStyle& style,
                                     uint64_t seed = 0) {
    return GraphsToTry(terms_, terms_.Parse(term).value(), style, seed);
  }

  const Universe universe_ = SmallUniverse();
  Terms terms_{&universe_};
};

const model::Node& NodeOf(const model::Graph& graph, const std::string& op) {
  return *std::ranges::find(graph.nodes, op, &model::Node::op);
}

TEST_F(InstancesTest, TheUniversesOwnIsFirst) {
  const auto graphs = GraphsOf("ReduceMax[axes=[1]](x)", {});
  ASSERT_FALSE(graphs.empty());
  EXPECT_EQ(graphs[0].value(graphs[0].inputs[0]).type.dims(), (Ints{2, 3}));
}

TEST_F(InstancesTest, AttributesOfTwoOperatorsDifferAtOnce) {
  std::set<std::string> pairs;
  for (const model::Graph& graph : GraphsOf("ReduceMax[axes=[1]](Concat[axis=0](x, y))", {})) {
    pairs.insert(ToString(NodeOf(graph, "Concat").attributes) +
                 ToString(NodeOf(graph, "ReduceMax").attributes));
  }
  for (const char* pair : {"{axis=0}{axes=[1]}", "{axis=1}{axes=[0]}", "{axis=2}{axes=[0]}",
                           "{axis=1}{axes=[0], keepdims=0}"}) {
    EXPECT_TRUE(pairs.contains(pair)) << pair;
  }
}

TEST_F(InstancesTest, AStyleKeepsOutWhatItsGuardsDo) {
  const RuleStyle narrow = {.any_words = false, .same_ranks = true, .has_elements = true};
  const auto graphs = GraphsOf("ReduceMax[axes=[1]](Concat[axis=0](x, y))", narrow);
  EXPECT_GT(graphs.size(), 5u);
  for (const model::Graph& graph : graphs) {
    const model::TensorType& type = graph.value(graph.inputs[0]).type;
    EXPECT_EQ(type.rank(), 2);
    EXPECT_GT(type.elements(), 0);
    EXPECT_EQ(ToString(NodeOf(graph, "Concat").attributes), "{axis=0}");
  }
}

// The term has two of the universe's four variables.
TEST_F(InstancesTest, EachGraphIsThereOnce) {
  for (const char* const term : {"Add(x, y)", "ReduceMax[axes=[1]](Concat[axis=0](x, y))"}) {
    const auto graphs = GraphsOf(term, {});
    std::set<std::string> texts;
    for (const model::Graph& graph : graphs) texts.insert(model::PrintGraph(graph, 10));
    EXPECT_EQ(texts.size(), graphs.size()) << term;
  }
}

TEST_F(InstancesTest, AreTheSameForASeed) {
  const auto one = GraphsOf("ReduceMax[axes=[1]](Relu(x))", {}, 7);
  const auto other = GraphsOf("ReduceMax[axes=[1]](Relu(x))", {}, 7);
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(model::PrintGraph(one[i], 10), model::PrintGraph(other[i], 10));
  }
}

}  // namespace
}  // namespace quotient::generate
