// Random graphs, grown by all rules at random and chosen from at random: the journal that is
// derived from what the search recorded makes the same graph, and no other journal does.

#include "core/journal/derive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/rng.h"
#include "core/extract/extract.h"
#include "core/model/text.h"
#include "core/search/rewriter.h"
#include "tests/core/rules/random_graphs.h"
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
    Choose();
  }

  const model::Graph& graph() const { return graph_; }
  Selected selected() const { return {*tensors_, rules_.rules(), selection_.choice, {}}; }
  std::string ChosenText() const {
    const auto chosen = domain::ToGraph(*tensors_, selection_.choice, rules_.rules(), {});
    EXPECT_OK(chosen.status());
    return chosen.ok() ? model::PrintGraph(*chosen) : "";
  }

 private:
  void Choose() {
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
  absl::StatusOr<std::unique_ptr<ReplayEGraph>> replay =
      ReplayEGraph::Begin(graph, graph, kSettings);
  if (!replay.ok()) return replay.status();
  const absl::Status made = (*replay)->Make(recorded.rewrites, StopCondition());
  if (!made.ok()) return made;
  return (*replay)->Finish(recorded);
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
    const absl::StatusOr<Derived> derived =
        Derive(grown.selected(), graph, kSettings, StopCondition());
    ASSERT_OK(derived.status());
    EXPECT_EQ(model::PrintGraph(derived->graph), grown.ChosenText());
    ASSERT_OK_AND_ASSIGN(const model::Graph replayed, Replayed(graph, derived->rewriting));
    EXPECT_EQ(model::PrintGraph(replayed), grown.ChosenText());
    rewrites += derived->rewriting.rewrites.size();
    if (HasFailure()) return;
  }
  EXPECT_GT(rewrites, 5 * kGraphs) << "little was rewritten";
}

// Without one of its rewrites, with two in the wrong order, and with one at another place, a
// journal makes another graph or none. Rewrites that are not needed would hide that.
TEST(DeriveTest, EachRewriteIsNeeded) {
  constexpr uint64_t kGraphs = 20;
  int needless = 0, all = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(seed);
    const model::Graph graph = rules::RandomGraph(seed, 12);
    if (graph.outputs.empty()) continue;
    Grown grown(graph, seed);
    ASSERT_NO_FATAL_FAILURE(grown.Grow());
    ASSERT_OK_AND_ASSIGN(const Derived derived,
                         Derive(grown.selected(), graph, kSettings, StopCondition()));
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

TEST(DeriveTest, ACancelledJobEndsSoon) {
  const model::Graph graph = rules::RandomGraph(1, 12);
  Grown grown(graph, 1);
  ASSERT_NO_FATAL_FAILURE(grown.Grow());
  CancelToken token;
  token.Cancel();
  EXPECT_THAT(Derive(grown.selected(), graph, kSettings, StopCondition(&token)),
              HasReason(Reason::kCancelled));
}

}  // namespace
}  // namespace quotient::journal
