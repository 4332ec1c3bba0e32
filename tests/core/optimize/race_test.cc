// Races on a fake device, of candidates that a search has found.

#include "core/optimize/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/optimize/package.h"
#include "core/optimize/search_candidates.h"
#include "core/optimize/variants.h"
#include "core/optimize/why_not.h"
#include "core/report/decision_text.h"
#include "tests/core/optimize/stage_fixture.h"
#include "tests/support/fake_device_kind.h"
#include "tests/support/log_capture.h"

namespace quotient::optimize {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two signs that rules remove.
constexpr char kModel[] =
    "g (float[4,4] x, float[4,4] z) => (float[4,4] y) "
    "{ n = Neg(x) a = Sub(z, n) m = Neg(z) y = Add(a, m) }";
constexpr char kRules[] = R"(
# x - (-y) = x + y
sub-neg: Sub(?x, Neg(?y)) => Add(?x, ?y)
# x + (-y) = x - y
add-neg: Add(?x, Neg(?y)) => Sub(?x, ?y)
)";

class RaceTest : public StageTest {
 protected:
  // Each node takes 100 us, also if it is an epilogue.
  RaceTest() {
    options_.device = "cpu";
    options_.threads = 1;
    options_.budget_seconds = 1e4;  // By the device's clock, which is the only one that moves.
    fake_.run_us = [this](const kernels::KernelSpec& spec, int) -> absl::StatusOr<double> {
      if (spec.op == broken_) return absl::UnimplementedError("no kernel for " + broken_);
      return 100 * (1 + static_cast<double>(spec.epilogue.size()));
    };
    // Called when graphs run, and so for whatever a test sets later.
    fake_.overhead_us = [this](const model::Graph& graph) {
      return overhead_us_ ? overhead_us_(graph) : 0;
    };
    devices_.emplace(DeviceSetup{.store = &store_, .lane = &lane_}, kinds_);
  }

  // Graphs whose last node is a Sub take longer than the original.
  static double SlowWithSubLast(const model::Graph& graph) {
    return graph.nodes.back().op == "Sub" ? 500 : 0;
  }

  // Searches for candidates, and keeps the one without signs if it agrees with the original.
  void Search() {
    families_ = rules_;
    ASSERT_NO_FATAL_FAILURE(ReadAndPredict(kModel));
    WhyNot why_not(*job_);
    ASSERT_OK_AND_ASSIGN(
        Candidates candidates,
        SearchCandidates(*job_, *baseline_, why_not, [](double, const SearchProgress&) {}));
    ASSERT_OK_AND_ASSIGN(PackagedCandidates packaged,
                         PackageCandidates(*job_, *baseline_, std::move(candidates)));
    ASSERT_THAT(packaged.failures, IsEmpty());
    ASSERT_OK_AND_ASSIGN(verified_.checker, NewOriginalChecker(*job_, *original_));
    Compared compared =
        Compare(verified_.checker->checker, std::move(packaged.written), 9, stop_, stop_);
    for (Verified& each : compared.agreeing) {
      if (OpsOf(each) == "Add Sub") verified_.agreeing.push_back(std::move(each));
    }
    ASSERT_THAT(verified_.agreeing, SizeIs(1));
    verified_.variants = std::move(packaged.variants);
  }

  RaceResult RaceThem(double seconds_per_candidate = 0) {
    verified_.seconds_per_candidate = seconds_per_candidate;
    return Race(*job_, *baseline_, verified_);
  }

  // The operators of a graph.
  static std::string OpsOf(const Verified& candidate) {
    std::vector<std::string> ops;
    for (const model::Node& node : candidate.packaged.prepared.cut.graph.nodes) {
      ops.push_back(node.op);
    }
    return absl::StrJoin(ops, " ");
  }
  // Those of the graph that was taken.
  static std::string Taken(const RaceResult& race) {
    EXPECT_OK(race.decision.status());
    if (!race.decision.ok() || !race.decision->winner.has_value()) return "nothing";
    return OpsOf(race.decision->winner->candidate);
  }

  kernels::fake::FakeOptions fake_;
  int opened_ = 0;  // How often the device was opened.
  std::string broken_;
  std::function<double(const model::Graph& graph)> overhead_us_;
  const std::vector<DeviceKind> kinds_ = {
      testing::FakeDeviceKind({"cpu"}, [this](absl::string_view) {
        ++opened_;
        return kernels::fake::NewFakeBackend(&clock_, fake_);
      })};
  const std::vector<rules::Family> rules_ = {{"of the test", kRules, nullptr, nullptr}};
  VerifiedCandidates verified_;
};

TEST_F(RaceTest, TheFasterOneIsTaken) {
  Search();
  const RaceResult race = RaceThem();
  ASSERT_EQ(Taken(race), "Add Sub");
  EXPECT_DOUBLE_EQ(race.decision->original.median_us, 400);
  EXPECT_DOUBLE_EQ(race.decision->winner->measured.median_us, 200);
  EXPECT_THAT(race.failures, IsEmpty());
  EXPECT_FALSE(race.memory_ran_out);
}

TEST_F(RaceTest, WhatRunsIsComparedWithTheReference) {
  Search();
  const RaceResult race = RaceThem();
  ASSERT_OK(race.decision.status());
  EXPECT_EQ(race.decision->original.error_norm, 0);
}

// Where nothing was compared there is no checker. Then inputs are drawn by the seed.
TEST_F(RaceTest, WithoutACheckerNothingIsCompared) {
  Search();
  verified_.checker = nullptr;
  verified_.variants = nullptr;
  const RaceResult race = RaceThem();
  EXPECT_EQ(Taken(race), "Add Sub");
  EXPECT_EQ(race.decision->original.error_norm, std::nullopt);
}

TEST_F(RaceTest, WithoutCandidatesTheOriginalIsMeasuredAlone) {
  Search();
  verified_.agreeing.clear();
  const RaceResult race = RaceThem();
  EXPECT_EQ(Taken(race), "nothing");
  EXPECT_DOUBLE_EQ(race.decision->original.median_us, 400);
  EXPECT_THAT(race.decision->considered, IsEmpty());
}

TEST_F(RaceTest, AnOriginalThatCannotRunIsAnError) {
  Search();
  broken_ = "Neg";
  const RaceResult race = RaceThem();
  EXPECT_EQ(race.decision.status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(RaceTest, ACandidateThatCannotRunIsNamed) {
  Search();
  Verified& other = verified_.agreeing.emplace_back(verified_.agreeing.front());
  other.packaged = PackageOf("g (float[4,4] x, float[4,4] z) => (float[4,4] y) { y = Sub(x, z) }");
  const RaceResult race = RaceThem();
  EXPECT_EQ(Taken(race), "Add Sub");
  EXPECT_THAT(race.failures, ElementsAre(HasSubstr("y"))) << "it computes something else";
}

// The candidate is slower than the original, so it is not taken. A variant without the rewrite that
// makes it so is.
TEST_F(RaceTest, ABadRewriteIsLeftOut) {
  overhead_us_ = SlowWithSubLast;
  Search();
  const RaceResult race = RaceThem();
  ASSERT_EQ(Taken(race), "Add Neg Add");
  EXPECT_THAT(race.decision->winner->candidate.packaged.left_out, ElementsAre("add-neg"));
  // The other variant is not made if a search has found that graph before.
  ASSERT_GE(race.decision->considered.size(), 2u);
  EXPECT_THAT(race.decision->considered[0].left_out, IsEmpty());
  EXPECT_EQ(race.decision->considered[0].grounds, report::Grounds::kSurelySlower);
  EXPECT_FALSE(race.decision->considered[0].taken);
}

TEST_F(RaceTest, ThereAreNoVariantsIfMakingThemTakesTooLong) {
  overhead_us_ = SlowWithSubLast;
  Search();
  const RaceResult race = RaceThem(/*seconds_per_candidate=*/1e6);
  EXPECT_EQ(Taken(race), "nothing");
  EXPECT_THAT(race.decision->considered, SizeIs(1));
}

// Two threads of a busy machine wait for each other, so the device is opened for one as well.
TEST_F(RaceTest, OnABusyMachineGraphsRunOnOneThread) {
  fake_.disturbed = [] { return true; };
  fake_.threads = options_.threads = 2;
  Search();
  const RaceResult race = RaceThem();
  ASSERT_EQ(Taken(race), "Add Sub");
  EXPECT_TRUE(race.decision->by_cpu_time);
  EXPECT_EQ(opened_, 2);
}

// Over all races, where candidates are numbered as in the report.
TEST_F(RaceTest, TheLogSaysWhatTheReportSays) {
  fake_.disturbed = [] { return true; };
  fake_.threads = options_.threads = 2;
  overhead_us_ = SlowWithSubLast;
  Search();
  std::vector<std::string> logged;
  std::vector<std::string> reported;
  {
    const testing::LogCapture log;
    const RaceResult race = RaceThem();
    ASSERT_OK(race.decision.status());
    for (const std::string& line : report::DecisionLines(race.decision->considered)) {
      reported.push_back(absl::StrCat("info ", line, "\n"));
    }
    std::ranges::copy_if(log.lines(), std::back_inserter(logged), [](const std::string& line) {
      return absl::StrContains(line, "candidate");
    });
  }
  ASSERT_GT(reported.size(), 1u);
  EXPECT_EQ(logged, reported);
  EXPECT_THAT(logged.front(), HasSubstr("by CPU time of one thread"));
}

TEST_F(RaceTest, OneThreadTellsItsCpuTimeByItself) {
  fake_.disturbed = [] { return true; };
  Search();
  const RaceResult race = RaceThem();
  ASSERT_OK(race.decision.status());
  EXPECT_FALSE(race.decision->by_cpu_time);
  EXPECT_EQ(opened_, 1);
}

TEST_F(RaceTest, WithoutVariantsWhatWasDecidedStays) {
  overhead_us_ = SlowWithSubLast;
  Search();
  verified_.variants = nullptr;
  EXPECT_EQ(Taken(RaceThem()), "nothing");
}

}  // namespace
}  // namespace quotient::optimize
