// Journals that are derived from what a search has recorded make the chosen graph again. The graphs
// are random, and so are which rules grow them and what is chosen.

#include "core/journal/derive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/reason.h"
#include "core/base/rng.h"
#include "core/extract/extract.h"
#include "core/model/text.h"
#include "core/search/rewriter.h"
#include "tests/core/rules/random_graphs.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::journal {
namespace {

using egraph::ENodeId;
using testing::HasReason;

constexpr int kMaxOpset = 23;
const ReplaySettings kSettings = {.max_opset = kMaxOpset, .max_folded_bytes = 1 << 20};

// Each e-node costs something at random, the same each time.
class RandomCosts : public extract::CostFunction {
 public:
  explicit RandomCosts(uint64_t seed) : seed_(seed) {}
  double Cost(ENodeId node) const override {
    Rng rng(seed_ * 1'000'003 + node.value());
    return 1 + static_cast<double>(rng.Below(1000));
  }

 private:
  const uint64_t seed_;
};

// The e-graph of a graph, grown, and a choice from it.
class Grown {
 public:
  Grown(const model::Graph& graph, uint64_t seed) : graph_(graph), seed_(seed) {}

  void Grow() {
    ASSERT_OK_AND_ASSIGN(tensors_, domain::FromGraph(graph_, graph_));
    tensors_->domain->LimitConstants(kSettings.max_folded_bytes);
    ASSERT_OK_AND_ASSIGN(rules_, rules::BuildRules(tensors_->domain.get(), kMaxOpset, {}));
    search::Rewriter rewriter(tensors_->egraph.get(), rules_.rules());
    Rng rng(seed_);
    const std::vector<size_t> wanted(rules_.rules().size(), 50);
    for (int round = 0; round < 4 && tensors_->egraph->num_enodes() < 600; ++round) {
      rewriter.Search(wanted, StopCondition());
      for (size_t rule = 0; rule < wanted.size(); ++rule) {
        // Some matches wait for the next round, so that they are applied late.
        const size_t waiting = rewriter.num_waiting(rule);
        ASSERT_OK(rewriter.ApplyNext(rule, waiting - waiting / 3).status());
      }
      ASSERT_OK(rewriter.Rebuild());
    }
    ChooseAtRandom();
  }
  // Chooses what rules have made, wherever that is possible.
  void ChooseNew() { selection_.choice = rules::ChooseNew(*tensors_); }

  Selected selected() const { return {*tensors_, rules_.rules(), selection_.choice, {}}; }
  std::string ChosenText() const {
    const auto chosen = domain::ToGraph(*tensors_, selection_.choice, rules_.rules(), {});
    EXPECT_OK(chosen.status());
    return chosen.ok() ? model::PrintGraph(*chosen) : "";
  }

 private:
  void ChooseAtRandom() {
    const RandomCosts costs(seed_);
    const std::vector<egraph::ClassId> roots = tensors_->CanonicalRoots();
    ASSERT_OK_AND_ASSIGN(selection_, extract::FindExtractor("tree")->Extract(
                                         {*tensors_->egraph, costs, roots}, StopCondition()));
  }

  const model::Graph graph_;
  const uint64_t seed_;
  std::optional<domain::TensorEGraph> tensors_;
  rules::RuleSet rules_;
  extract::Selection selection_;
};

absl::StatusOr<model::Graph> Replayed(const model::Graph& graph, const Rewriting& recorded) {
  StepBudget budget{StopCondition()};
  absl::StatusOr<std::unique_ptr<ReplayEGraph>> replay =
      ReplayEGraph::Begin(graph, graph, kSettings, &budget);
  if (!replay.ok()) return replay.status();
  const absl::Status made = (*replay)->Make(recorded.rewrites);
  if (!made.ok()) return made;
  return (*replay)->Finish(recorded);
}

// Expects that what is chosen from the grown graph has a journal, which is derived in so many
// steps.
void ExpectDerived(const std::string& text, int64_t most_steps) {
  const model::Graph graph = rules::ParseStatic(text);
  Grown grown(graph, 1);
  ASSERT_NO_FATAL_FAILURE(grown.Grow());
  grown.ChooseNew();
  StepBudget budget(StopCondition(), most_steps);
  ASSERT_OK_AND_ASSIGN(const Derived derived, Derive(grown.selected(), graph, kSettings, &budget));
  EXPECT_FALSE(derived.rewriting.rewrites.empty());
  ASSERT_OK_AND_ASSIGN(const model::Graph replayed, Replayed(graph, derived.rewriting));
  EXPECT_EQ(model::PrintGraph(replayed), grown.ChosenText());
}

TEST(DeriveTest, RandomChoicesAreMadeAgain) {
  constexpr uint64_t kGraphs = 150;
  size_t rewrites = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(seed);
    const model::Graph graph = rules::RandomGraph(seed, 12);
    if (graph.outputs.empty()) continue;
    Grown grown(graph, seed);
    ASSERT_NO_FATAL_FAILURE(grown.Grow());
    StepBudget budget{StopCondition()};
    const absl::StatusOr<Derived> derived = Derive(grown.selected(), graph, kSettings, &budget);
    ASSERT_OK(derived.status());
    EXPECT_EQ(model::PrintGraph(derived->graph), grown.ChosenText());
    ASSERT_OK_AND_ASSIGN(const model::Graph replayed, Replayed(graph, derived->rewriting));
    EXPECT_EQ(model::PrintGraph(replayed), grown.ChosenText());
    rewrites += derived->rewriting.rewrites.size();
    if (HasFailure()) return;
  }
  EXPECT_GT(rewrites, 5 * kGraphs) << "little was rewritten";
}

// Without one of its rewrites a journal mostly makes another graph or none. Deriving takes more
// rewrites than are needed where it does not know exactly what a match rests on.
TEST(DeriveTest, MostRewritesAreNeeded) {
  constexpr uint64_t kGraphs = 20;
  int needless = 0, all = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(seed);
    const model::Graph graph = rules::RandomGraph(seed, 12);
    if (graph.outputs.empty()) continue;
    Grown grown(graph, seed);
    ASSERT_NO_FATAL_FAILURE(grown.Grow());
    StepBudget budget{StopCondition()};
    ASSERT_OK_AND_ASSIGN(const Derived derived,
                         Derive(grown.selected(), graph, kSettings, &budget));
    for (size_t i = 0; i < derived.rewriting.rewrites.size(); ++i) {
      Rewriting without = derived.rewriting;
      without.rewrites.erase(without.rewrites.begin() + static_cast<std::ptrdiff_t>(i));
      const absl::StatusOr<model::Graph> replayed = Replayed(graph, without);
      ++all;
      needless += replayed.ok() && model::PrintGraph(*replayed) == grown.ChosenText();
      if (replayed.ok()) continue;
      EXPECT_THAT(replayed, HasReason(Reason::kJournalInvalid));
    }
  }
  EXPECT_LT(needless, all / 4) << "of " << all;
}

// A product that a Concat has many times.
TEST(DeriveTest, AConcatOfAThousandOperandsHasAJournal) {
  const std::vector<std::string> products(1000, "product");
  ExpectDerived(absl::StrCat(R"(graph g {
    input x: float32[2,4]
    const w: float32[4,2] = random(1)
    product = MatMul(x, w)
    joined = Concat()",
                             absl::StrJoin(products, ", "), R"() {axis=0}
    y = Relu(joined)
    output y
  })"),
                /*most_steps=*/20'000'000);
}

// The heads of an attention, each computed by itself.
TEST(DeriveTest, AConcatOfManyHeadsHasAJournal) {
  std::string nodes;
  std::vector<std::string> heads;
  for (int i = 0; i < 128; ++i) {
    absl::StrAppend(&nodes, "s", i, " = Slice(x) {starts=[", 4 * i, "], ends=[", 4 * i + 4,
                    "], axes=[1]}\nconst w", i, ": float32[4,4] = random(", i + 1, ")\nh", i,
                    " = MatMul(s", i, ", w", i, ")\n");
    heads.push_back(absl::StrCat("h", i));
  }
  ExpectDerived(
      absl::StrCat("graph g {\ninput x: float32[4,512]\n", nodes, "joined = Concat(",
                   absl::StrJoin(heads, ", "), ") {axis=1}\ny = Relu(joined)\noutput y\n}"),
      /*most_steps=*/60'000'000);
}

TEST(DeriveTest, EndsWhenAllStepsAreTaken) {
  const model::Graph graph = rules::RandomGraph(1, 12);
  Grown grown(graph, 1);
  ASSERT_NO_FATAL_FAILURE(grown.Grow());
  StepBudget ample{StopCondition()};
  ASSERT_OK(Derive(grown.selected(), graph, kSettings, &ample).status());
  StepBudget enough(StopCondition(), ample.taken());
  EXPECT_OK(Derive(grown.selected(), graph, kSettings, &enough).status());
  EXPECT_EQ(enough.taken(), ample.taken()) << "equal work takes equal steps";
  StepBudget scarce(StopCondition(), ample.taken() / 2);
  EXPECT_THAT(Derive(grown.selected(), graph, kSettings, &scarce), HasReason(Reason::kRunBudget));
}

TEST(DeriveTest, ACancelledJobEndsSoon) {
  const model::Graph graph = rules::RandomGraph(1, 12);
  Grown grown(graph, 1);
  ASSERT_NO_FATAL_FAILURE(grown.Grow());
  CancelToken token;
  token.Cancel();
  StepBudget budget{StopCondition(&token)};
  EXPECT_THAT(Derive(grown.selected(), graph, kSettings, &budget), HasReason(Reason::kCancelled));
}

}  // namespace
}  // namespace quotient::journal
