#include "core/eval/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/reason.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::eval {
namespace {

using model::Graph;
using model::Tensor;
using model::ValueId;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Floats;
using testing::HasReason;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MustFind;
using testing::MustParse;
using testing::StatusIs;

// Evaluates the named values from named inputs.
absl::StatusOr<std::vector<std::vector<double>>> EvaluateNamed(
    const Graph& graph, const std::vector<std::pair<std::string, Tensor>>& inputs,
    const std::vector<std::string>& wanted, const StopCondition& stop = {}) {
  ValueMap given;
  for (const auto& [name, tensor] : inputs) given.emplace(MustFind(graph, name), tensor);
  std::vector<ValueId> ids;
  for (const std::string& name : wanted) ids.push_back(MustFind(graph, name));
  QUOTIENT_ASSIGN_OR_RETURN(const ValueMap results, Evaluate(graph, given, ids, 1, stop));
  std::vector<std::vector<double>> values;
  for (ValueId id : ids) values.push_back(results.at(id).AsDoubles());
  return values;
}

TEST(EvaluateTest, ComputesInnerValuesOutputsAndInputs) {
  const Graph graph = MustParse(R"(graph g {
    input x: float32[2]
    const one: float32[] = [1]
    a = Add(x, one)
    y = Mul(a, a)
    output y
  })");
  ASSERT_OK_AND_ASSIGN(const auto values,
                       EvaluateNamed(graph, {{"x", Floats({2}, {1, 2})}}, {"x", "a", "y"}));
  EXPECT_THAT(values, ElementsAre(ElementsAre(1, 2), ElementsAre(2, 3), ElementsAre(4, 9)));
}

TEST(EvaluateTest, ADefaultFillsInAndAnInputOverridesIt) {
  const Graph graph = MustParse(R"(graph g {
    input x: float32[1]
    input bias: float32[1] = [10]
    y = Add(x, bias)
    output y
  })");
  ASSERT_OK_AND_ASSIGN(const auto by_default,
                       EvaluateNamed(graph, {{"x", Floats({1}, {1})}}, {"y"}));
  EXPECT_THAT(by_default, ElementsAre(ElementsAre(11)));
  ASSERT_OK_AND_ASSIGN(
      const auto given,
      EvaluateNamed(graph, {{"x", Floats({1}, {1})}, {"bias", Floats({1}, {5})}}, {"y"}));
  EXPECT_THAT(given, ElementsAre(ElementsAre(6)));
}

TEST(EvaluateTest, IsCutAtOpaqueNodes) {
  const Graph graph = MustParse(R"(graph g {
    input x: float32[1]
    a = Neg(x)
    b: float32[1] = Opaque "com.acme.Foo" (a)
    y = Neg(b)
    output y
  })");
  ASSERT_OK_AND_ASSIGN(
      const auto values,
      EvaluateNamed(graph, {{"x", Floats({1}, {1})}, {"b", Floats({1}, {7})}}, {"a", "y"}));
  EXPECT_THAT(values, ElementsAre(ElementsAre(-1), ElementsAre(-7)));
  EXPECT_THAT(EvaluateNamed(graph, {{"x", Floats({1}, {1})}}, {"y"}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(EvaluateTest, NeedsOnlyWhatIsWanted) {
  const Graph graph = MustParse(R"(graph g {
    input x: float32[1]
    input unused: float32[1]
    a = Neg(x)
    b = Neg(unused)
    output a, b
  })");
  ASSERT_OK_AND_ASSIGN(const auto values, EvaluateNamed(graph, {{"x", Floats({1}, {1})}}, {"a"}));
  EXPECT_THAT(values, ElementsAre(ElementsAre(-1)));
}

TEST(EvaluateTest, ParametersMayBeComputed) {
  const Graph graph = MustParse(R"(graph g {
    input x: float32[2,3]
    input like: float32[3,2]
    shape = Shape(like)
    y = Reshape(x, shape)
    h = Shape(y)
    output y, h
  })");
  ASSERT_OK_AND_ASSIGN(const auto values,
                       EvaluateNamed(graph,
                                     {{"x", Floats({2, 3}, {1, 2, 3, 4, 5, 6})},
                                      {"like", Floats({3, 2}, {0, 0, 0, 0, 0, 0})}},
                                     {"h"}));
  EXPECT_THAT(values, ElementsAre(ElementsAre(3, 2)));
}

TEST(EvaluateTest, SymbolsTakeTheInputsSizes) {
  Graph graph = MustParse("graph g {\ninput x: float32[N]\ny = Neg(x)\noutput y\n}");
  ASSERT_OK(ops::InferTypes(graph));
  ASSERT_OK_AND_ASSIGN(const auto values,
                       EvaluateNamed(graph, {{"x", Floats({3}, {1, 2, 3})}}, {"y"}));
  EXPECT_THAT(values, ElementsAre(ElementsAre(-1, -2, -3)));
}

TEST(EvaluateTest, RefusesAnInputOfAnotherType) {
  const Graph graph = MustParse("graph g {\ninput x: float32[2]\ny = Neg(x)\noutput y\n}");
  EXPECT_THAT(EvaluateNamed(graph, {{"x", Floats({3}, {1, 2, 3})}}, {"y"}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(EvaluateNamed(graph, {}, {"y"}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(EvaluateTest, ErrorsOfOperatorsNameTheNode) {
  const Graph graph = MustParse(R"(graph g {
    input x: float32[2]
    input i: int64[1]
    y = Gather(x, i) @lookup
    output y
  })");
  const absl::Status status =
      EvaluateNamed(graph, {{"x", Floats({2}, {1, 2})}, {"i", testing::Ints({1}, {2})}}, {"y"})
          .status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("lookup"), HasSubstr("index 2")));
}

TEST(EvaluateTest, StopsWhenTold) {
  const Graph graph = MustParse("graph g {\ninput x: float32[1]\ny = Neg(x)\noutput y\n}");
  CancelToken token;
  token.Cancel();
  EXPECT_THAT(EvaluateNamed(graph, {{"x", Floats({1}, {1})}}, {"y"}, StopCondition(&token)),
              HasReason(Reason::kCancelled));
  EXPECT_THAT(EvaluateNamed(graph, {{"x", Floats({1}, {1})}}, {"y"},
                            StopCondition().WithBudget(Clock::System(), -1)),
              HasReason(Reason::kRunBudget));
}

TEST(EvaluateTest, AHookSeesAndMayChangeWhatANodeComputes) {
  const Graph graph = MustParse(R"(graph g {
    input x: float32[1]
    a = Neg(x)
    y = Exp(a)
    output y
  })");
  std::vector<std::string> seen;
  const auto hook = [&](model::NodeId id, std::span<const model::Tensor* const> inputs,
                        std::vector<model::Tensor>& outputs) {
    seen.push_back(graph.node(id).op);
    if (graph.node(id).op != "Neg") return;
    EXPECT_EQ(inputs[0]->GetDouble(0), 3);
    EXPECT_EQ(outputs[0].GetDouble(0), -3);
    outputs[0] = Floats({1}, {0});
  };
  const auto values = Evaluate(graph, {{testing::MustFind(graph, "x"), Floats({1}, {3})}},
                               graph.outputs, 1, {}, hook);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(values->begin()->second.GetDouble(0), 1);
  EXPECT_EQ(seen, (std::vector<std::string>{"Neg", "Exp"}));
}

}  // namespace
}  // namespace quotient::eval
