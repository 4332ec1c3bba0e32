#include "core/optimize/rule_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/pattern.h"
#include "core/rules/rule_set.h"
#include "tests/core/optimize/optimize_fixture.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// The version of a rule of one line, with the comment above it.
std::string VersionOfText(const std::string& text) {
  domain::TensorDomain domain;
  rules::Words words(&domain);
  rules::AddCommonWords(words);
  const auto rules = egraph::CompileRules(text, words.vocabulary());
  EXPECT_TRUE(rules.ok()) << rules.status();
  return VersionOf(*rules->front());
}

TEST(RuleVersion, ChangesWithTheTextAndTheEquation) {
  const std::string version = VersionOfText("# a\nonce: Relu(Relu(?x)) => Relu(?x)\n");
  EXPECT_THAT(version, SizeIs(16));
  EXPECT_EQ(VersionOfText("# a\nonce: Relu(Relu(?x)) => Relu(?x)\n"), version);
  EXPECT_NE(VersionOfText("# b\nonce: Relu(Relu(?x)) => Relu(?x)\n"), version);
  EXPECT_NE(VersionOfText("# a\nonce: Abs(Abs(?x)) => Abs(?x)\n"), version);
}

TEST(RuleVersion, RulesThatAreTextHaveOneAndOthersTheEngines) {
  domain::TensorDomain domain;
  ASSERT_OK_AND_ASSIGN(const rules::RuleSet set,
                       rules::BuildFamilies(&domain, rules::AllFamilies(), {}));
  int texts = 0, by_hand = 0;
  for (const egraph::Rule* const rule : set.rules()) {
    EXPECT_EQ(rule->text().empty(), rule->programs().empty()) << rule->name();
    ++(rule->text().empty() ? by_hand : texts);
  }
  EXPECT_GT(texts, 50);
  EXPECT_GT(by_hand, 5);
}

TEST(RuleStatistics, AreSharesOfTheOriginal) {
  report::Report report;
  report.original.predicted_us = 200;
  report.rules = {{"fold", {5, 4, 3, 2, 50, -10}}, {"idle", {1, 0, 7}}, {"unknown", {1}}};
  const timing::DeviceRules job = StatisticsOf(report, {{"fold", "v1"}, {"idle", "v2"}}, 123);
  EXPECT_EQ(job.jobs, 1);
  EXPECT_EQ(job.last_unix_s, 123);
  ASSERT_THAT(job.rules, SizeIs(2));
  const timing::RuleTotals fold = {1, 1, 5, 4, 3, 2, 0.25, -0.05, 123};
  EXPECT_EQ(job.rules.at({"fold", "v1"}), fold);
  const timing::RuleTotals idle = {1, 0, 1, 0, 7, 0, 0, 0, 123};
  EXPECT_EQ(job.rules.at({"idle", "v2"}), idle);
  report.original.predicted_us = 0;
  EXPECT_EQ(StatisticsOf(report, {{"fold", "v1"}}, 123).rules.at({"fold", "v1"}).saved, 0);
}

class KeptStatistics : public OptimizeTest {
 protected:
  KeptStatistics() : store_(absl::StrCat(::testing::TempDir(), "/kept_rules.", getpid())) {
    Log().set_level(spdlog::level::err);
  }
  ~KeptStatistics() override {
    std::filesystem::remove(store_.path());
    std::filesystem::remove(store_.path() + ".lock");
  }

  absl::StatusOr<Result> Optimized(const std::string& model) {
    const ModelFiles files{.name = "m.onnx", .model = model};
    return Optimize(files, options_,
                    {.devices = &devices_, .clock = Clock::System(), .rule_store = &store_},
                    StopCondition(), nullptr);
  }

  const timing::RuleStore store_;
};

TEST_F(KeptStatistics, EachJobAddsWhatItsReportSays) {
  ASSERT_OK_AND_ASSIGN(const Result first, Optimized(Branches()));
  const report::RuleFigures merge = first.report.rules.at("conv-merge");
  EXPECT_GT(merge.matches, 0);
  EXPECT_GE(merge.matches, merge.applied);
  EXPECT_GT(merge.enodes, 0);
  EXPECT_GT(merge.uses, 0);
  EXPECT_GT(merge.saved_us, 0);
  ASSERT_OK_AND_ASSIGN(const Result second, Optimized(Branches()));
  // What is known of rules changes nothing of the result.
  EXPECT_EQ(second.files.model, first.files.model);

  ASSERT_OK_AND_ASSIGN(const timing::RuleTable table, store_.Read());
  ASSERT_THAT(table, SizeIs(1));
  const auto& [fingerprint, device] = *table.begin();
  EXPECT_EQ(fingerprint, first.report.fingerprint);
  EXPECT_EQ(device.jobs, 2);
  EXPECT_THAT(device.rules, SizeIs(first.report.rules.size()));
  for (const auto& [rule, totals] : device.rules) {
    const report::RuleFigures& figures = first.report.rules.at(rule.name);
    EXPECT_EQ(totals.jobs, 2) << rule.name;
    EXPECT_EQ(totals.matches, 2 * figures.matches) << rule.name;
    EXPECT_EQ(totals.uses, 2 * figures.uses) << rule.name;
    EXPECT_NEAR(totals.saved, 2 * figures.saved_us / first.report.original.predicted_us, 1e-12);
  }
}

TEST_F(KeptStatistics, AFileThatIsOfNoUseCostsNoJob) {
  std::ofstream(store_.path()) << "a shopping list\n";
  EXPECT_OK(Optimized(Branches()));
}

TEST_F(KeptStatistics, AModelThatIsNotTriedIsNotCounted) {
  ::onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(Branches()));
  model.mutable_opset_import(0)->set_version(1'000);
  ASSERT_OK_AND_ASSIGN(const Result result, Optimized(model.SerializeAsString()));
  ASSERT_FALSE(result.report.passed_through.empty());
  EXPECT_THAT(store_.Read().value(), IsEmpty());
}

}  // namespace
}  // namespace quotient::optimize
