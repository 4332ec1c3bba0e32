// Results are made again from the model and the journal alone, to the last byte, and not from a
// journal that is not theirs.

#include "core/optimize/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/journal/journal.h"
#include "core/search/strategy.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/core/optimize/optimize_fixture.h"
#include "tests/support/networks/networks.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using quotient::testing::HasReason;
using ::testing::HasSubstr;

class ReplayTest : public OptimizeTest {
 protected:
  ReplayTest() {
    options_.budget_seconds = 600;
    options_.max_simulations = 300;
  }

  // Optimizes the model, which must get a journal.
  Result Optimized(const std::string& model) {
    absl::StatusOr<Result> result = Run(model);
    EXPECT_OK(result.status());
    if (!result.ok()) return {};
    EXPECT_NE(result->journal, "");
    for (const std::string& note : result->report.notes) {
      EXPECT_THAT(note, Not(HasSubstr("journal")));
    }
    return *std::move(result);
  }

  absl::StatusOr<Replayed> ReplayBy(const std::string& model, absl::string_view journal) {
    return ReplayJournal({"m.onnx", model, {}}, journal, 1, StopCondition(&token_), families_);
  }

  // Optimizes and replays, and expects the same bytes.
  void ExpectReplayed(const std::string& model) {
    const Result result = Optimized(model);
    ASSERT_OK_AND_ASSIGN(const Replayed replayed, ReplayBy(model, result.journal));
    EXPECT_TRUE(replayed.files.model == result.files.model);
    EXPECT_EQ(replayed.files.external_location, result.files.external_location);
    EXPECT_TRUE(replayed.files.external_data == result.files.external_data);
    EXPECT_EQ(replayed.is_original, result.report.outcome == report::Outcome::kNoImprovement);
    EXPECT_EQ(replayed.rewrites > 0, !result.report.journal.empty());
  }

  // The journal with something changed in it, and the right digest behind that.
  template <typename Change>
  static std::string Changed(const std::string& text, const Change& change) {
    absl::StatusOr<journal::Journal> journal = journal::FromText(text);
    EXPECT_OK(journal.status());
    if (!journal.ok()) return text;
    change(*journal);
    return journal::ToText(*journal);
  }
};

TEST_F(ReplayTest, SmallModelsComeOutTheSame) {
  for (const std::string& model : {Normalized(), Branches(), GuardedSoftmax()}) {
    ExpectReplayed(model);
    if (HasFailure()) return;
  }
}

TEST_F(ReplayTest, AllStrategiesHaveJournals) {
  for (const std::string& strategy : search::StrategyNames()) {
    SCOPED_TRACE(strategy);
    options_.strategy = strategy;
    ExpectReplayed(Branches());
    if (HasFailure()) return;
  }
}

TEST_F(ReplayTest, OptionsThatChangeTheModelAreInTheJournal) {
  options_.shapes = {{"input", {2, 8, 24, 24}}};
  ExpectReplayed(Branches());
  options_.shapes.clear();
  options_.measure_shapes = {{"input", {3, 8, 24, 24}}};
  options_.max_folded_bytes = 100;
  ExpectReplayed(Normalized());
  options_.measure_shapes.clear();
  options_.assume_finite_inputs = true;
  ExpectReplayed(GuardedSoftmax());
}

TEST_F(ReplayTest, AModelThatStaysTheSameHasAJournal) {
  const std::string model =
      testing::ModelAtOpset(17, "g (float[N,4] x) => (float[N,4] y) { y = Tanh(x) }")
          .SerializeAsString();
  const Result result = Optimized(model);
  EXPECT_EQ(result.report.outcome, report::Outcome::kNoImprovement);
  ASSERT_OK_AND_ASSIGN(const Replayed replayed, ReplayBy(model, result.journal));
  EXPECT_TRUE(replayed.is_original);
  EXPECT_EQ(replayed.files.model, model);
}

TEST_F(ReplayTest, EqualJobsHaveEqualJournals) {
  EXPECT_EQ(Optimized(Branches()).journal, Optimized(Branches()).journal);
}

TEST_F(ReplayTest, AnotherModelIsRefused) {
  const Result result = Optimized(Branches());
  EXPECT_THAT(ReplayBy(Normalized(), result.journal),
              HasReason(Reason::kJournalInvalid, HasSubstr("another model")));
  EXPECT_THAT(ReplayBy("", result.journal), HasReason(Reason::kJournalInvalid));
}

TEST_F(ReplayTest, AnotherVersionIsRefused) {
  const std::string journal = Changed(Optimized(Branches()).journal,
                                      [](journal::Journal& it) { it.engine = "0.0.1+old"; });
  EXPECT_THAT(ReplayBy(Branches(), journal),
              HasReason(Reason::kJournalVersion, HasSubstr("0.0.1+old")));
}

TEST_F(ReplayTest, ATamperedRewriteIsRefusedAndNamed) {
  const std::string model = Branches();
  const std::string journal = Optimized(model).journal;
  ASSERT_OK_AND_ASSIGN(const journal::Journal read, journal::FromText(journal));
  ASSERT_TRUE(read.derivation.has_value());
  const std::vector<journal::Rewrite>& rewrites = read.derivation->rounds[0].rewrites;
  ASSERT_FALSE(rewrites.empty());
  const auto tampered = [&](size_t i, const auto& change) {
    return ReplayBy(model, Changed(journal, [&](journal::Journal& it) {
                      change(it.derivation->rounds[0].rewrites[i]);
                    }));
  };
  for (size_t i = 0; i < rewrites.size(); ++i) {
    const std::string named = absl::StrCat("rewrite ", i, " ");
    EXPECT_THAT(tampered(i, [](journal::Rewrite& it) { it.rule = "no-such-rule"; }),
                HasReason(Reason::kJournalInvalid, HasSubstr(named)));
    EXPECT_THAT(tampered(i, [](journal::Rewrite& it) { it.which += 1000; }),
                HasReason(Reason::kJournalInvalid, HasSubstr(named)));
    EXPECT_THAT(tampered(i, [](journal::Rewrite& it) { it.alternative += 1000; }),
                HasReason(Reason::kJournalInvalid, HasSubstr(named)));
    EXPECT_THAT(tampered(i, [](journal::Rewrite& it) { it.at.pop_back(); }),
                HasReason(Reason::kJournalInvalid, HasSubstr(named)));
    EXPECT_THAT(tampered(i, [](journal::Rewrite& it) { it.at[0] = {.name = "no such value"}; }),
                HasReason(Reason::kJournalInvalid, HasSubstr(named)));
    EXPECT_THAT(
        tampered(i, [i](journal::Rewrite& it) {
          it.at[0] = {.sort = journal::Place::Sort::kMade, .rewrite = static_cast<uint32_t>(i)};
        }),
        HasReason(Reason::kJournalInvalid, HasSubstr(named)));
    // Another rule of the same kind, at the same place.
    EXPECT_THAT(tampered(i, [](journal::Rewrite& it) { it.rule = "relu-of-relu"; }),
                HasReason(Reason::kJournalInvalid, HasSubstr(named)));
  }
}

TEST_F(ReplayTest, ATamperedChoiceOrResultIsRefused) {
  const std::string model = Branches();
  const std::string journal = Optimized(model).journal;
  const auto tampered = [&](const auto& change) {
    return ReplayBy(model, Changed(journal, [&](journal::Journal& it) { change(*it.derivation); }));
  };
  using Derivation = journal::Journal::Derivation;
  EXPECT_THAT(tampered([](Derivation& it) { it.rounds[0].chosen.clear(); }),
              HasReason(Reason::kJournalInvalid));
  EXPECT_THAT(tampered([](Derivation& it) { it.rounds[0].chosen.push_back({.name = "nothing"}); }),
              HasReason(Reason::kJournalInvalid, HasSubstr("the graph")));
  EXPECT_THAT(tampered([](Derivation& it) { it.rounds[0].rewrites.clear(); }),
              HasReason(Reason::kJournalInvalid));
  EXPECT_THAT(tampered([](Derivation& it) { it.rounds.clear(); }),
              HasReason(Reason::kJournalInvalid));
  EXPECT_THAT(tampered([](Derivation& it) { it.model = BlobId::Of("another"); }),
              HasReason(Reason::kJournalInvalid, HasSubstr("is not the file")));
  EXPECT_THAT(tampered([](Derivation& it) { it.external_data = BlobId::Of("weights"); }),
              HasReason(Reason::kJournalInvalid));
  EXPECT_THAT(tampered([](Derivation& it) { it.preparation.measure_shapes["input"] = {1}; }),
              HasReason(Reason::kJournalInvalid));
  EXPECT_THAT(tampered([](Derivation& it) { it.preparation.max_folded_bytes = -1; }),
              HasReason(Reason::kJournalInvalid));
  EXPECT_THAT(tampered([](Derivation& it) { it.preparation.shapes["input"] = {-7}; }),
              HasReason(Reason::kJournalInvalid));
}

TEST_F(ReplayTest, ACancelledReplayEndsSoon) {
  const std::string journal = Optimized(Branches()).journal;
  token_.Cancel();
  EXPECT_THAT(ReplayBy(Branches(), journal), HasReason(Reason::kCancelled));
}

}  // namespace
}  // namespace quotient::optimize
