// All rules together on random graphs: every e-node must compute its class's value. And the oracle
// itself: it must find rules that are wrong.

#include "tests/core/rules/soundness.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/egraph/pattern.h"
#include "core/rules/rule_set.h"
#include "core/rules/vocabulary.h"
#include "tests/core/rules/random_graphs.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/support/egraph/compile_rule.h"
#include "tests/support/status_matchers.h"

namespace quotient::rules {
namespace {

using domain::TensorEGraph;

TensorEGraph Import(const model::Graph& graph) {
  auto tensors = domain::FromGraph(graph, graph);
  EXPECT_THAT(tensors, testing::IsOk());
  return *std::move(tensors);
}

TEST(Soundness, AllRulesOnRandomGraphs) {
  constexpr uint64_t kGraphs = 300;
  std::map<std::string, int> fired;
  int64_t checked = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const model::Graph graph = RandomGraph(seed, 12);
    if (graph.outputs.empty()) continue;
    TensorEGraph tensors = Import(graph);
    ASSERT_OK_AND_ASSIGN(const RuleSet set, BuildRules(tensors.domain.get(), kNewestOpset, {}));
    for (const auto& [rule, times] : Grow(tensors, set.rules(), 3, /*max_enodes=*/1000)) {
      fired[rule] += times;
    }
    EXPECT_EQ(tensors.domain->refused_unions(), 0) << "seed " << seed;
    for (const Values values : {Values::kUnit, Values::kWide}) {
      const Verdict verdict = CheckSoundness(tensors, RandomInputs(graph, seed, values));
      checked += verdict.checked;
      ASSERT_EQ(verdict.error, "")
          << "seed " << seed << ", rules in order: " << ::testing::PrintToString(RuleNames());
    }
    ASSERT_OK(domain::ToGraph(tensors, ChooseNew(tensors), set.rules())) << "seed " << seed;
  }
  EXPECT_GE(fired.size(), 80) << "the graphs exercise too few rules: "
                              << ::testing::PrintToString(fired);
  EXPECT_GE(checked, 8'000);
}

// float64 shows what holds to the digits of float32 alone, float16 what overflows or underflows.
TEST(Soundness, OtherFloatTypes) {
  constexpr uint64_t kGraphs = 100;
  for (const auto& [dtype, tolerance] :
       {std::pair(model::DType::kFloat64, 1e-9), std::pair(model::DType::kFloat16, 3e-2)}) {
    for (uint64_t seed = 1000; seed < 1000 + kGraphs; ++seed) {
      const model::Graph graph = RandomGraph(seed, 12, dtype);
      if (graph.outputs.empty()) continue;
      TensorEGraph tensors = Import(graph);
      ASSERT_OK_AND_ASSIGN(const RuleSet set, BuildRules(tensors.domain.get(), kNewestOpset, {}));
      Grow(tensors, set.rules(), 3, /*max_enodes=*/1000);
      EXPECT_EQ(tensors.domain->refused_unions(), 0) << "seed " << seed;
      const Verdict verdict = CheckSoundness(tensors, RandomInputs(graph, seed), tolerance);
      ASSERT_EQ(verdict.error, "") << DTypeName(dtype) << ", seed " << seed
                                   << ", rules in order: " << ::testing::PrintToString(RuleNames());
    }
  }
}

// Each rounds to halves by a summand of 1 beside what a factor of 2^-22 made small, and enlarges
// the rest again. Each constant by itself is one that may be re-associated around.
constexpr const char* kRoundingTricks[] = {
    // The two summands cancel across the channels, where none is seen any more.
    R"(a = Mul(x, down)
       b = Add(a, one)
       c = Conv(b, difference)
       z = Mul(c, up))",
    R"(b = Conv(x, small)
       c = Add(b, one)
       d = Conv(c, difference)
       z = Mul(d, up))",
    R"(a = Mul(x, down)
       b = Add(a, one)
       t = Transpose(b) {perm=[0,2,3,1]}
       c = MatMul(t, column)
       z = Mul(c, up))",
    // The summand is taken away in parts that do not cancel it.
    R"(a = Conv(x, difference)
       b = Mul(a, down)
       c = Add(b, one)
       d = Add(c, most)
       e = Add(d, rest)
       z = Mul(e, up))",
};

TEST(Soundness, RoundingOnPurposeStays) {
  constexpr absl::string_view kHead = R"(
    input x: float32[1,2,5,5]
    const down: float32[] = [2.384185791015625e-07]
    const up: float32[] = [4194304]
    const one: float32[] = [1]
    const most: float32[] = [-0.84375]
    const rest: float32[] = [-0.15625]
    const difference: float32[1,2,1,1] = [1, -1]
    const column: float32[2,1] = [1, -1]
    const small: float32[2,2,1,1] = [2.384185791015625e-07, 0, 0, 2.384185791015625e-07]
  )";
  for (const char* trick : kRoundingTricks) {
    const model::Graph graph =
        ParseStatic(absl::StrCat("graph g {", kHead, trick, "\noutput z\n}\n"));
    TensorEGraph tensors = Import(graph);
    ASSERT_OK_AND_ASSIGN(const RuleSet set, BuildRules(tensors.domain.get(), kNewestOpset, {}));
    Grow(tensors, set.rules(), 5, /*max_enodes=*/1000);
    for (uint64_t seed = 0; seed < 4; ++seed) {
      EXPECT_EQ(CheckSoundness(tensors, RandomInputs(graph, seed)).error, "") << trick;
    }
  }
}

// Buckets: (305 k / 5) / 61 is k, 305 k (1 / 305) may be less. What is between the quotient and the
// step moves by rules itself, and makes new classes in front of the step.
constexpr const char* kBuckets[] = {
    "r = Clip(d) {min=0.0, max=100.0}\nz = Cast(r) {to=7}",
    "r = Transpose(d) {perm=[1,0]}\nz = Floor(r)",
    "r = Slice(d) {starts=[1], ends=[7], axes=[1]}\nz = Floor(r)",
    ("a = Slice(d) {starts=[0], ends=[4], axes=[1]}\n"
     "b = Slice(d) {starts=[4], ends=[8], axes=[1]}\n"
     "r = Relu(a)\ns = Relu(b)\nj = Concat(s, r) {axis=1}\nz = Cast(j) {to=6}"),
    "r = Reshape(d) {shape=[4,4]}\ns = Mul(r, one)\nt = Neg(s)\nz = Ceil(t)",
    "r = Mul(d, two)\ns = Add(r, one)\nz = Cast(s) {to=7}",
    "r = Neg(d)\ni = Identity(f)\nu = Div(i, five)\nv = Div(u, rest)\nz = Floor(v)\ny = Add(r, z)",
};

TEST(Soundness, BucketsStay) {
  constexpr absl::string_view kHead = R"(
    input x: int64[2,8]
    const five: float32[] = [5]
    const rest: float32[] = [61]
    const one: float32[] = [1]
    const two: float32[] = [2]
    f = Cast(x) {to=1}
    c = Div(f, five)
    d = Div(c, rest)
  )";
  for (const char* bucket : kBuckets) {
    const absl::string_view output = absl::StrContains(bucket, "y =") ? "y" : "z";
    const model::Graph graph =
        ParseStatic(absl::StrCat("graph g {", kHead, bucket, "\noutput ", output, "\n}\n"));
    TensorEGraph tensors = Import(graph);
    ASSERT_OK_AND_ASSIGN(const RuleSet set, BuildRules(tensors.domain.get(), kNewestOpset, {}));
    Grow(tensors, set.rules(), 6, /*max_enodes=*/1000);
    std::vector<int64_t> positions(16);
    for (size_t k = 0; k < positions.size(); ++k) positions[k] = 305 * static_cast<int64_t>(k + 1);
    const model::Tensor x = model::Tensor::Ints({2, 8}, positions);
    ASSERT_OK_AND_ASSIGN(const model::Graph rewritten,
                         domain::ToGraph(tensors, ChooseNew(tensors), set.rules()));
    ASSERT_OK_AND_ASSIGN(const auto before,
                         eval::Evaluate(graph, {{graph.inputs[0], x}}, graph.outputs, 1));
    ASSERT_OK_AND_ASSIGN(const auto after, eval::Evaluate(rewritten, {{rewritten.inputs[0], x}},
                                                          rewritten.outputs, 1));
    EXPECT_EQ(RelativeError(before.at(graph.outputs[0]), after.at(rewritten.outputs[0])), 0)
        << bucket;
  }
}

// Each is wrong in some shapes only, or by little.
constexpr const char* kWrongRules[] = {
    // A scale along the columns, applied to the rows: right shapes where the matrix is square.
    "wrong: Mul(MatMul(?x, ?w), ?s) => MatMul(Mul(?x, ?s), ?w)",
    // Broadcast forgotten.
    "wrong: Add(?x, ?c) => Add(?c, ?c)",
    "wrong: Sub(?x, ?y) => Sub(?y, ?x)",
    // Axis forgotten.
    "wrong: Softmax(?x) => Softmax(?x)",
    "wrong: Relu(?x) => ?x",
    "wrong: Concat[?c](?x, ?y) => Concat[?c](?y, ?x)",
};

TEST(Soundness, OracleFindsWrongRules) {
  for (const char* text : kWrongRules) {
    bool found = false;
    for (uint64_t seed = 0; seed < 400 && !found; ++seed) {
      const model::Graph graph = RandomGraph(seed, 9);
      if (graph.outputs.empty()) continue;
      TensorEGraph tensors = Import(graph);
      Words words(tensors.domain.get());
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<egraph::Rule> rule,
                           testing::CompileRule(text, words.vocabulary()));
      // Wrong rules may also unite different types, which the domain refuses; that counts, too.
      std::vector<egraph::Match> matches = MatchesOf(tensors, *rule);
      bool refused = false;
      for (const egraph::Match& match : matches) {
        refused |= !rule->Apply(*tensors.egraph, match, 1).ok();
      }
      if (!tensors.egraph->Rebuild().ok()) continue;
      found = !refused && !CheckSoundness(tensors, RandomInputs(graph, seed)).error.empty();
    }
    EXPECT_TRUE(found) << text;
  }
}

}  // namespace
}  // namespace quotient::rules
