#include "core/optimize/search_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/optimize/rewrite_surcharge.h"
#include "tests/core/optimize/stage_fixture.h"
#include "tests/support/memory_checkpoint.h"

namespace quotient::optimize {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;
using ::testing::SizeIs;

class SearchCandidatesTest : public StageTest {};

TEST_F(SearchCandidatesTest, FindsWhatTheRulesLeadToAndTellsHowFarItIs) {
  ReadAndPredict(
      "g (float[8,16] x) => (float[8,16] y) { a = Softmax(x) b = Transpose(a) y = Transpose(b) }");
  std::vector<double> fractions;
  WhyNot why_not(*job_);
  ASSERT_OK_AND_ASSIGN(
      const Candidates candidates,
      SearchCandidates(*job_, *baseline_, why_not, [&](double fraction, const SearchProgress& now) {
        EXPECT_GT(now.enodes, 0);
        fractions.push_back(fraction);
      }));
  ASSERT_FALSE(candidates.found.empty());
  EXPECT_THAT(candidates.found[0].graph.nodes, SizeIs(1));
  EXPECT_FALSE(fractions.empty());
  EXPECT_THAT(fractions, Each(AllOf(Ge(0), Le(1))));
}

// Sixteen constants take 64 bytes.
constexpr char kProduct[] = R"(g (float[N,4] x) => (float[N,4] y)
    <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> { y = MatMul(x, w) })";

TEST_F(SearchCandidatesTest, ASearchGetsWhatTheJobAndTheModelAllow) {
  testing::MemoryCheckpoint checkpoint("");
  environment_.checkpoint = &checkpoint;
  options_.budget_seconds = 100;
  options_.search_budget_seconds = 10;
  options_.max_opset = 18;
  ReadAndPredict(kProduct);
  original_->alternatives = 1;
  const SearchSettings settings = SettingsToSearch(*job_, *baseline_);
  EXPECT_EQ(settings.time->seconds, 10);
  EXPECT_EQ(settings.threads, 1);
  EXPECT_EQ(settings.max_opset, 18);
  EXPECT_EQ(settings.alternatives, 1);
  EXPECT_EQ(settings.constant_footprint_log2, 6);
  EXPECT_EQ(settings.checkpoint, &checkpoint);
  EXPECT_EQ(settings.families.data(), families_.data());
}

TEST_F(SearchCandidatesTest, OnlyOnDevicesThatRunFilesRewritesPayASurcharge) {
  const auto surcharge = [this] {
    ReadAndPredict(kProduct);
    return SettingsToSearch(*job_, *baseline_).surcharge;
  };
  EXPECT_EQ(surcharge(), 0);
  UseDevice([&](absl::string_view) {
    return kernels::fake::NewFakeBackend(&clock_, {.runs_files = true});
  });
  EXPECT_EQ(surcharge(), kSurchargeInFiles);
}

TEST_F(SearchCandidatesTest, ACheckpointIsForOneDeviceAndItsOptions) {
  const auto context = [this] {
    ReadAndPredict(kProduct);
    return SettingsToSearch(*job_, *baseline_).checkpoint_context;
  };
  const std::string first = context();
  EXPECT_EQ(context(), first);
  options_.seed = 1;
  EXPECT_NE(context(), first);
  options_.seed = 0;
  // The name of the device stays, and what it stands for is another one.
  UseDevice([&](absl::string_view) { return kernels::fake::NewFakeBackend(&clock_); });
  const std::string fake = context();
  UseDevice([&](absl::string_view) {
    return kernels::fake::NewFakeBackend(&clock_, {.fingerprint = "another one"});
  });
  EXPECT_NE(context(), fake);
}

}  // namespace
}  // namespace quotient::optimize
