// Results are made again from the model and the journal alone, to the last byte, and not from a
// journal that is not theirs.

#include "core/optimize/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

// The shape of x is that of z only by its name, so the search is made again without trust in names.
TEST_F(ReplayTest, WhatWasSearchedWithoutNamesIsReplayedWithoutThem) {
  const std::string model = testing::ModelAtOpset(17, R"(
      g (float[N,S,4] x, float[N,S,4] z) => (float[M,S,4] y) {
        a = Neg(x)
        b = Neg(a)
        s = Shape(x)
        e = Reshape(z, s)
        y = Concat <axis = 0> (b, e)
      })")
                                .SerializeAsString();
  const Result result = Optimized(model);
  ASSERT_OK_AND_ASSIGN(const journal::Journal journal, journal::FromText(result.journal));
  ASSERT_TRUE(journal.derivation.has_value());
  EXPECT_TRUE(journal.derivation->preparation.names_are_forgotten);
  ExpectReplayed(model);
}

// What a wrong rule made is found out, and the search is made again without the rule.
TEST_F(ReplayTest, WhatWasFoundWithoutAWrongRuleIsReplayed) {
  const std::vector<rules::Family> families = {
      {"of the test", "neg-neg: Neg(Neg(?x)) => ?x\nrelu-is-nothing: Relu(?x) => ?x\n", nullptr,
       nullptr}};
  families_ = families;
  const std::string model = testing::ModelAtOpset(17, R"(
      g (float[N,4] x, float[N,4] v, float[4,4] w) => (float[N,4] y, float[N,4] z) {
        a = Neg(x) b = Neg(a) y = MatMul(b, w) c = Relu(v) z = MatMul(c, w)
      })")
                                .SerializeAsString();
  const Result result = Optimized(model);
  EXPECT_THAT(result.report.notes, Contains(HasSubstr("relu-is-nothing")));
  ASSERT_OK_AND_ASSIGN(const journal::Journal journal, journal::FromText(result.journal));
  ASSERT_TRUE(journal.derivation.has_value());
  ASSERT_THAT(journal.derivation->rewriting.rewrites, SizeIs(1));
  EXPECT_EQ(journal.derivation->rewriting.rewrites[0].rule, "neg-neg");
  ExpectReplayed(model);
}

// A journal begins with the model that the job was given, whatever that was made from.
TEST_F(ReplayTest, AResultOfAResultIsReplayedFromThat) {
  const std::vector<rules::Family> families = {
      {"of the test", "neg-neg: Neg(Neg(?x)) => ?x\ntwice: Reciprocal(Reciprocal(?x)) => ?x\n",
       nullptr, nullptr}};
  families_ = families;
  const std::string model = testing::ModelAtOpset(17, R"(
      g (float[N,4] x, float[N,4] v, float[4,4] w) => (float[N,4] y, float[N,4] z) {
        a = Neg(x) b = Neg(a) y = MatMul(b, w)
        c = Reciprocal(v) d = Reciprocal(c) z = MatMul(d, w)
      })")
                                .SerializeAsString();
  options_.disabled_rules = {"neg-neg"};
  const Result first = Optimized(model);
  ASSERT_EQ(first.report.outcome, report::Outcome::kImproved);
  options_.disabled_rules.clear();
  const Result second = Optimized(first.files.model);
  ASSERT_EQ(second.report.outcome, report::Outcome::kImproved);
  ASSERT_OK_AND_ASSIGN(const Replayed replayed, ReplayBy(first.files.model, second.journal));
  EXPECT_TRUE(replayed.files.model == second.files.model);
  EXPECT_THAT(ReplayBy(model, second.journal),
              HasReason(Reason::kJournalInvalid, HasSubstr("another model")));
}

// Two products of one operand become one, whose parts are a Split.
TEST_F(ReplayTest, SplitsAreReplayed) {
  networks::NetworkBuilder builder("products", 5);
  const std::string x = builder.Input("x", {"8", "16"});
  for (const char* name : {"v", "w"}) {
    builder.Output(builder.MatMul(x, builder.Weight(name, {16, 16}, 16, 1)), {"8", "16"});
  }
  const std::string model = std::move(builder).Build().SerializeAsString();
  const Result result = Optimized(model);
  ASSERT_OK_AND_ASSIGN(const journal::Journal journal, journal::FromText(result.journal));
  ASSERT_TRUE(journal.derivation.has_value());
  EXPECT_THAT(journal.derivation->rewriting.splits, SizeIs(1));
  ExpectReplayed(model);
  // A Split of a part alone, of parts in the wrong order, and of what is no Slice.
  const auto tampered = [&](const auto& change) {
    return ReplayBy(model, Changed(result.journal, [&](journal::Journal& it) {
                      change(it.derivation->rewriting.splits[0]);
                    }));
  };
  using Places = std::vector<journal::Place>;
  EXPECT_THAT(tampered([](Places& parts) { parts.pop_back(); }),
              HasReason(Reason::kJournalInvalid, HasSubstr("Split")));
  EXPECT_THAT(tampered([](Places& parts) { std::swap(parts[0], parts[1]); }),
              HasReason(Reason::kJournalInvalid, HasSubstr("Split")));
  EXPECT_THAT(tampered([](Places& parts) { parts[0] = {.name = "x"}; }),
              HasReason(Reason::kJournalInvalid, HasSubstr("Split")));
}

TEST_F(ReplayTest, NodesThatAreNotUnderstoodAreReplayed) {
  for (const char* graph : {// A node that is not understood, between what is rewritten.
                            R"(g (float[2,4] x) => (float[2,4] y) {
             a = Neg(x) b = Neg(a) c = acme.Odd(b) d = Abs(c) y = Abs(d)
           })",
                            // An operand that is left out.
                            R"(g (float[2,4] x, float h) => (float[2,4] y) {
             a = Neg(x) b = Neg(a) y = Clip(b, , h)
           })"}) {
    const std::string text =
        absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17, \"acme\" : 1]> ", graph);
    SCOPED_TRACE(text);
    ExpectReplayed(testing::ModelFromText(text).SerializeAsString());
  }
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

TEST_F(ReplayTest, AJournalReadsLikeThis) {
  options_.strategy = "saturate";
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(Optimized(Branches()).journal, '\n')) {
    if (absl::StartsWith(line, "{\"rule\"") || absl::StartsWith(line, "{\"graph\"")) {
      lines.emplace_back(line);
    }
  }
  EXPECT_THAT(
      lines, ElementsAre(
                 R"({"rule":"conv-merge","at":["input",)"
                 R"("/Conv_0.weight","/Conv_0.bias","/Conv_0_output_0",)"
                 R"("/Conv_2.weight","/Conv_2.bias","/Conv_2_output_0",)"
                 R"("/Conv_4.weight","/Conv_4.bias","/Conv_4_output_0",)"
                 R"("/Conv_6.weight","/Conv_6.bias","/Conv_6_output_0"]})",
                 R"({"rule":"concat-of-unary","at":["/Concat_8_output_0","/Conv_0_output_0",)"
                 R"("/Conv_2_output_0","/Conv_4_output_0","/Conv_6_output_0"],"found_after":0})",
                 R"({"rule":"fold-constant","at":[[0,0],)"
                 R"("/Conv_0.bias","/Conv_2.bias","/Conv_4.bias","/Conv_6.bias"],"found_after":1})",
                 R"({"rule":"concat-slices","at":[[1,0],[0,2]],"found_after":2})",
                 R"({"graph":{"chosen":[[2,0],[1,1]],"splits":[]}})"));
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
  const std::string journal =
      Changed(Optimized(Branches()).journal, [](journal::Journal& it) { it.engine = "0.0.1+old"; });
  EXPECT_THAT(ReplayBy(Branches(), journal),
              HasReason(Reason::kJournalVersion, HasSubstr("0.0.1+old")));
}

TEST_F(ReplayTest, ATamperedRewriteIsRefusedAndNamed) {
  const std::string model = Branches();
  const std::string journal = Optimized(model).journal;
  ASSERT_OK_AND_ASSIGN(const journal::Journal read, journal::FromText(journal));
  ASSERT_TRUE(read.derivation.has_value());
  const std::vector<journal::Rewrite>& rewrites = read.derivation->rewriting.rewrites;
  ASSERT_FALSE(rewrites.empty());
  const auto tampered = [&](size_t i, const auto& change) {
    return ReplayBy(model, Changed(journal, [&](journal::Journal& it) {
                      change(it.derivation->rewriting.rewrites[i]);
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
    EXPECT_THAT(tampered(i,
                         [i](journal::Rewrite& it) {
                           it.at[0] = {.sort = journal::Place::Sort::kMade,
                                       .rewrite = static_cast<uint32_t>(i)};
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
  EXPECT_THAT(tampered([](Derivation& it) { it.rewriting.chosen.clear(); }),
              HasReason(Reason::kJournalInvalid));
  EXPECT_THAT(tampered([](Derivation& it) { it.rewriting.chosen.push_back({.name = "nothing"}); }),
              HasReason(Reason::kJournalInvalid, HasSubstr("the graph")));
  EXPECT_THAT(tampered([](Derivation& it) { it.rewriting.rewrites.clear(); }),
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

// Whoever replays writes a file of this name.
TEST_F(ReplayTest, ALocationOutsideTheFolderIsRefused) {
  const std::string journal = Optimized(Branches()).journal;
  for (const std::string& location :
       {std::string(".."), std::string("../weights"), std::string("/etc/weights"),
        std::string("a/b"), std::string("nul\0byte", 8), std::string(5000, 'a')}) {
    EXPECT_THAT(ReplayBy(Branches(), Changed(journal,
                                             [&](journal::Journal& it) {
                                               it.derivation->preparation.external_location =
                                                   location;
                                             })),
                HasReason(Reason::kJournalInvalid, HasSubstr("no plain file name")));
  }
}

TEST_F(ReplayTest, TheConditionsOfAResultAreTold) {
  const auto conditions = [this] {
    const absl::StatusOr<Replayed> replayed = ReplayBy(Branches(), Optimized(Branches()).journal);
    EXPECT_OK(replayed.status());
    return replayed.ok() ? replayed->conditions : std::vector<std::string>();
  };
  EXPECT_THAT(conditions(), IsEmpty());
  options_.shapes = {{"input", {2, 8, 24, 24}}};
  options_.assume_finite_inputs = true;
  EXPECT_THAT(conditions(), ElementsAre("input 'input' has the shape [2,8,24,24]",
                                        HasSubstr("no NaN, no infinity")));
}

TEST_F(ReplayTest, ACancelledReplayEndsSoon) {
  const std::string journal = Optimized(Branches()).journal;
  token_.Cancel();
  EXPECT_THAT(ReplayBy(Branches(), journal), HasReason(Reason::kCancelled));
}

}  // namespace
}  // namespace quotient::optimize
