// A pick moves through a part of a transformer of open sizes, and the result is right at others
// than those that it was measured at.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/domain/tensor_egraph.h"
#include "core/eval/evaluator.h"
#include "core/ops/infer_graph.h"
#include "core/rules/rule_set.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/status_matchers.h"

namespace quotient::rules {
namespace {

// The last token of a layer: one head of attention, a residual sum, a normalization, a head.
constexpr char kLayer[] = R"(graph g {
input x: float32[batch,sequence,8]
const q: float32[8,8] = random(1)
const scale: float32[8] = random(2)
const head: float32[8,5] = random(3)
const last: int64[] = [-1]
a = MatMul(x, q)
t = Transpose(x) {perm=[0,2,1]}
b = MatMul(a, t)
p = Softmax(b)
v = MatMul(p, x)
r = Add(v, x)
n = LayerNormalization(r, scale)
l = MatMul(n, head)
z = Gather(l, last) {axis=1}
output z
})";

model::Graph Bound(const model::Graph& graph, int64_t batch, int64_t sequence) {
  return *ops::BindShapes(graph, {{"x", {batch, sequence, 8}}});
}

TEST(Picks, MoveThroughLayersOfOpenSizes) {
  const model::Graph graph = ParseStatic(kLayer);
  domain::TensorEGraph tensors = *domain::FromGraph(graph, Bound(graph, 2, 16));
  ASSERT_OK_AND_ASSIGN(const RuleSet set, BuildRules(tensors.domain.get(), kNewestOpset, {}));
  const std::map<std::string, int> changes = Grow(tensors, set.rules(), 12);
  for (const char* rule : {"gather-row", "pick-of-elementwise", "pick-of-normalization"}) {
    EXPECT_TRUE(changes.contains(rule)) << rule;
  }
  // The head's product, that with the values, that of the scores and that of the queries.
  EXPECT_GE(changes.at("pick-of-product"), 4);
  EXPECT_EQ(tensors.domain->refused_unions(), 0);

  ASSERT_OK_AND_ASSIGN(const model::Graph rewritten,
                       domain::ToGraph(tensors, ChooseNew(tensors), set.rules()));
  for (const int64_t sequence : {1, 5, 16}) {
    const model::Graph before = Bound(graph, 3, sequence);
    const model::Graph after = Bound(rewritten, 3, sequence);
    const eval::ValueMap inputs = RandomInputs(before, 7);
    ASSERT_OK_AND_ASSIGN(const auto expected, eval::Evaluate(before, inputs, before.outputs, 1));
    ASSERT_OK_AND_ASSIGN(
        const auto actual,
        eval::Evaluate(after, {{after.inputs[0], inputs.at(before.inputs[0])}}, after.outputs, 1));
    EXPECT_LT(RelativeError(expected.at(before.outputs[0]), actual.at(after.outputs[0])), 1e-5);
  }
}

}  // namespace
}  // namespace quotient::rules
