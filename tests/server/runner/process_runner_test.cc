#include "server/runner/process_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/os/environment.h"
#include "core/os/files.h"
#include "core/os/program_folder.h"
#include "tests/server/support/fake_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::runner {
namespace {

using ::quotient::testing::HasReason;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct RecordedProgress : ProgressSink {
  void Report(const Progress& progress) override {
    phases.push_back(progress.phase);
    if (cancels != nullptr) cancels->Cancel();
    if (finishes != nullptr) finishes->Finish(Clock::System());
    if (advances != nullptr) advances->AdvanceMs(3'600'000);
  }

  std::vector<std::string> phases;
  CancelToken* cancels = nullptr;          // Is cancelled when there is progress.
  CancelToken* finishes = nullptr;         // Is told to finish then.
  testing::FakeClock* advances = nullptr;  // An hour passes then.
};

struct Checkpoint : worker::KeptCheckpoint {
  std::string Load() override { return bytes; }
  void Save(absl::string_view saved) override { bytes = std::string(saved); }

  std::string bytes = "a checkpoint";
};

class ProcessRunnerTest : public ::testing::Test {
 protected:
  ProcessRunnerTest() {
    settings_.program = os::FindBesideProgram("quotient-fake-job", {""});
    settings_.environment = os::ReadEnvironment(environ);
    settings_.engine_version = "engine 1";
    settings_.outbox_place = dir_.path();
    settings_.on_damage = [this](const BlobId& id) { damaged_.push_back(id); };
  }

  // A job of the fake that does what its name says.
  absl::StatusOr<jobs::JobResult> Run(const std::string& what,
                                      const CancelToken& token = CancelToken()) {
    jobs::Job job{.id = "job 1", .client = "a client"};
    job.spec.model_name = what;
    job.spec.model.graph = BlobId::Of("model");
    job.spec.options.budget_seconds = budget_seconds_;
    return NewProcessRunner(settings_, clock_)->Run(job, token, &progress_, &checkpoint_);
  }

  ProcessSettings settings_;
  double budget_seconds_ = 0;
  const Clock* clock_ = &Clock::System();
  testing::TempDir dir_;
  std::vector<BlobId> damaged_;
  RecordedProgress progress_;
  Checkpoint checkpoint_;
};

TEST_F(ProcessRunnerTest, TheResultAndProgressOfAProcessArrive) {
  ASSERT_OK_AND_ASSIGN(const jobs::JobResult result, Run("works"));
  EXPECT_EQ(result.model, BlobId::Of("model"));
  EXPECT_EQ(result.engine_version, "jobs/job 1");
  EXPECT_THAT(progress_.phases, ElementsAre("search"));
}

TEST_F(ProcessRunnerTest, AnErrorKeepsItsReason) {
  EXPECT_THAT(Run("wrong"), HasReason(Reason::kModelCyclic, "node 'x': a cycle"));
}

TEST_F(ProcessRunnerTest, AProcessThatDiesPoisonsItsJobOnly) {
  EXPECT_THAT(Run("crash"), HasReason(Reason::kPoisoned, HasSubstr("signal 11")));
  EXPECT_THAT(Run("exit"), HasReason(Reason::kPoisoned, HasSubstr("status 5")));
  EXPECT_THAT(Run("out of memory"), HasReason(Reason::kPoisoned, HasSubstr("no memory left")));
  EXPECT_THAT(Run("noise"), HasReason(Reason::kPoisoned, HasSubstr("sent what is no event")));
  EXPECT_OK(Run("works"));
}

TEST_F(ProcessRunnerTest, AProcessThatHangsIsEnded) {
  settings_.silent_seconds = 0.2;
  EXPECT_THAT(Run("hang"), HasReason(Reason::kPoisoned, HasSubstr("no progress for")));
}

// Whatever budget a client asks for.
TEST_F(ProcessRunnerTest, ALongBudgetDoesNotLetAProcessHang) {
  settings_.silent_seconds = 0.1;
  settings_.most_seconds = 0.1;
  budget_seconds_ = 86'400;
  EXPECT_THAT(Run("hang"), HasReason(Reason::kPoisoned, HasSubstr("no progress for")));
}

TEST_F(ProcessRunnerTest, AProcessThatTakesTooMuchMemoryIsEnded) {
  settings_.most_bytes = 256 << 20;
  EXPECT_THAT(Run("hungry"), HasReason(Reason::kPoisoned, HasSubstr("more than 256 MiB")));
  EXPECT_OK(Run("works"));
}

TEST_F(ProcessRunnerTest, ACancelledProcessLeavesACheckpoint) {
  CancelToken token;
  progress_.cancels = &token;
  EXPECT_THAT(Run("until cancelled", token), HasReason(Reason::kCancelled));
  EXPECT_EQ(checkpoint_.Load(), "after a checkpoint");
}

TEST_F(ProcessRunnerTest, AProcessThatIsToldToFinishReturnsAResult) {
  CancelToken token;
  progress_.finishes = &token;
  EXPECT_OK(Run("until told to finish", token));
}

TEST_F(ProcessRunnerTest, AProcessThatFinishesCanStillBeCancelled) {
  settings_.end_seconds = 0.2;
  CancelToken token;
  token.Finish(Clock::System());
  progress_.cancels = &token;
  EXPECT_THAT(Run("hang", token), HasReason(Reason::kCancelled, HasSubstr("did not end within")));
}

TEST_F(ProcessRunnerTest, AProcessThatDoesNotEndWhenItIsToldToIsEnded) {
  settings_.end_seconds = 0.2;
  CancelToken token;
  token.Cancel();
  EXPECT_THAT(Run("hang", token), HasReason(Reason::kCancelled, HasSubstr("did not end within")));
}

TEST_F(ProcessRunnerTest, APauseIsNoSilence) {
  settings_.silent_seconds = 60;
  testing::FakeClock clock;
  clock_ = &clock;
  progress_.advances = &clock;
  EXPECT_OK(Run("works"));
}

TEST_F(ProcessRunnerTest, WhoWaitsForAnotherJobDoesNotHang) {
  settings_.silent_seconds = 0.3;
  EXPECT_OK(Run("waits"));
}

TEST_F(ProcessRunnerTest, WhatAJobMakesIsTakenFromItsFolderWhichThenGoes) {
  std::string made;
  settings_.take = [&made](const std::string& client, const std::string& outbox,
                           const jobs::JobResult& result) {
    EXPECT_EQ(client, "a client");
    EXPECT_EQ(result.model, BlobId::Of("model"));
    made = *os::ReadFile(outbox + "/made");
    return absl::OkStatus();
  };
  EXPECT_OK(Run("works"));
  EXPECT_EQ(made, "by jobs/job 1");
  EXPECT_FALSE(Run("crash").ok());
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(ProcessRunnerTest, AJobHasATemporaryFolderOfItsOwn) {
  settings_.environment["TMPDIR"] = dir_ / "tmp";
  std::filesystem::create_directory(dir_ / "tmp");
  EXPECT_OK(Run("uses its temporary folder"));
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "tmp"));
  settings_.environment["TMPDIR"] = "/nowhere";
  EXPECT_OK(Run("works")) << "not all jobs need one";
}

TEST_F(ProcessRunnerTest, AProcessThatHasNotMadeWhatItSaysPoisonsItsJob) {
  absl::Status taken = MakeError(Reason::kBlobCorrupt, "wrong bytes");
  settings_.take = [&taken](const auto&, const auto&, const auto&) { return taken; };
  EXPECT_THAT(Run("works"), HasReason(Reason::kPoisoned, HasSubstr("wrong bytes")));
  taken = absl::NotFoundError("no bytes");
  EXPECT_THAT(Run("works"), HasReason(Reason::kPoisoned, HasSubstr("no bytes")));
  taken = MakeError(Reason::kStorageDown, "the disk is full");
  EXPECT_THAT(Run("works"), HasReason(Reason::kStorageDown));
}

TEST_F(ProcessRunnerTest, AProcessThatTalksOnWhenItsTimeIsUpIsEnded) {
  settings_.most_seconds = 0.1;
  settings_.silent_seconds = 0.3;
  EXPECT_THAT(Run("talks on"), HasReason(Reason::kPoisoned, HasSubstr("did not end within")));
}

TEST_F(ProcessRunnerTest, WhatAProcessHasStartedEndsWithIt) {
  EXPECT_OK(Run("leaves a process"));
  const int left = std::stoi(*os::ReadFile(dir_ / "left"));
  // It is dead, or waits for somebody who asks how it ended.
  const auto state = os::ReadFile(absl::StrCat("/proc/", left, "/stat"));
  EXPECT_TRUE(!state.ok() || absl::StrContains(*state, ") Z ") ||
              absl::StrContains(*state, ") X "));
}

TEST_F(ProcessRunnerTest, HowAProcessHasEndedIsTold) {
  ProcessEnd ended;
  settings_.on_end = [&ended](const ProcessEnd& end) { ended = end; };
  EXPECT_OK(Run("waits"));  // For long enough that its memory is looked at.
  EXPECT_EQ(ended.fate, ProcessFate::kOk);
  EXPECT_GT(ended.memory_bytes, 0);
  EXPECT_FALSE(Run("wrong").ok());
  EXPECT_EQ(ended.fate, ProcessFate::kError);
  EXPECT_FALSE(Run("crash").ok());
  EXPECT_EQ(ended.fate, ProcessFate::kDied);
  settings_.silent_seconds = 0.2;
  EXPECT_FALSE(Run("hang").ok());
  EXPECT_EQ(ended.fate, ProcessFate::kKilled);
}

TEST_F(ProcessRunnerTest, WhatARunHasDoneIsTold) {
  int64_t simulations = 0;
  settings_.on_figures = [&](const v1::Figures& figures) { simulations += figures.simulations(); };
  EXPECT_OK(Run("works"));
  EXPECT_EQ(simulations, 12);
}

TEST_F(ProcessRunnerTest, DamagedBlobsAreCounted) {
  EXPECT_OK(Run("damaged"));
  EXPECT_THAT(damaged_, ElementsAre(BlobId::Of("damaged")));
}

TEST_F(ProcessRunnerTest, AProgramThatDoesNotWorkIsNotTheJobsFault) {
  EXPECT_THAT(Run("broken program"), HasReason(Reason::kProgramReplaced, HasSubstr("status 127")));
  absl::Status unusable;
  settings_.on_replaced = [&](const absl::Status& why) { unusable = why; };
  settings_.program = "/no/such/program";
  EXPECT_THAT(Run("works"), HasReason(Reason::kProgramReplaced,
                                      HasSubstr("/no/such/program cannot be run: No such file")));
  EXPECT_OK(unusable);  // Who runs jobs sees it by itself.
  const auto wanted = [] { return true; };
  EXPECT_THAT(NewProcessRunner(settings_, clock_)->Inspect({}, "name", wanted),
              HasReason(Reason::kProgramReplaced));
  EXPECT_THAT(unusable, HasReason(Reason::kProgramReplaced));
}

TEST_F(ProcessRunnerTest, AProgramOfAnotherBuildIsTold) {
  absl::Status replaced;
  settings_.on_replaced = [&](const absl::Status& why) { replaced = why; };
  EXPECT_OK(Run("works"));
  settings_.engine_version = "engine 2";
  EXPECT_THAT(Run("works"), HasReason(Reason::kProgramReplaced,
                                      HasSubstr("(engine 1) than quotientd (engine 2)")));
  EXPECT_OK(replaced);  // Who runs jobs sees it by itself.
  const auto wanted = [] { return true; };
  EXPECT_THAT(NewProcessRunner(settings_, clock_)->Inspect({}, "name", wanted),
              HasReason(Reason::kProgramReplaced));
  EXPECT_THAT(replaced, HasReason(Reason::kProgramReplaced));
}

TEST_F(ProcessRunnerTest, AProgramIsCheckedBeforeAnythingIsAskedOfIt) {
  bool has_counted = false;
  settings_.on_end = [&](const ProcessEnd&) { has_counted = true; };
  EXPECT_OK(CheckProgram(settings_, clock_));
  EXPECT_FALSE(has_counted);
  settings_.engine_version = "engine 2";
  EXPECT_THAT(CheckProgram(settings_, clock_), HasReason(Reason::kProgramReplaced));
  settings_.program = "/bin/false";
  EXPECT_THAT(CheckProgram(settings_, clock_), HasReason(Reason::kProgramReplaced));
}

TEST_F(ProcessRunnerTest, ModelsAreDescribed) {
  settings_.silent_seconds = 0;  // Questions are answered in silence.
  const auto runner = NewProcessRunner(settings_, clock_);
  const jobs::Manifest model{.graph = BlobId::Of("model"), .external_files = {}};
  const auto wanted = [] { return true; };
  ASSERT_OK_AND_ASSIGN(const std::string summary, runner->Inspect(model, "works", wanted));
  EXPECT_EQ(summary, "{\"model\":\"works\"}");
  EXPECT_THAT(runner->Inspect(model, "crash", wanted), HasReason(Reason::kPoisoned));
  const auto unwanted = [] { return false; };
  EXPECT_THAT(runner->Inspect(model, "hang", unwanted), HasReason(Reason::kCancelled));
  settings_.inspect_seconds = 0.3;
  EXPECT_THAT(NewProcessRunner(settings_, clock_)->Inspect(model, "hang", wanted),
              HasReason(Reason::kRunBudget));
}

TEST_F(ProcessRunnerTest, ModelsAreValidated) {
  const auto runner = NewProcessRunner(settings_, clock_);
  const auto wanted = [] { return true; };
  jobs::JobSpec spec{.model_name = "good"};
  spec.options.threads = 3;
  ASSERT_OK_AND_ASSIGN(const optimize::Validation good, runner->Validate(spec, wanted));
  EXPECT_OK(good.untouched);
  EXPECT_THAT(good.notes, ElementsAre("3"));
  spec.model_name = "odd";
  EXPECT_THAT(runner->Validate(spec, wanted)->untouched, HasReason(Reason::kModelShape, "odd"));
  spec.model_name = "wrong";
  EXPECT_THAT(runner->Validate(spec, wanted), HasReason(Reason::kModelCyclic));
}

TEST_F(ProcessRunnerTest, ResultsAreVerifiedForSoLongAndNoLonger) {
  settings_.verify_seconds = 60;
  const auto wanted = [] { return true; };
  jobs::Job job{.id = "7"};
  job.spec.model_name = "same";
  ASSERT_OK_AND_ASSIGN(const worker::Verification same,
                       NewProcessRunner(settings_, clock_)->Verify(job, wanted));
  EXPECT_TRUE(same.is_same);
  EXPECT_EQ(same.comparison_json, "jobs/7");
  job.spec.model_name = "other";
  EXPECT_FALSE(NewProcessRunner(settings_, clock_)->Verify(job, wanted)->is_same);
  settings_.verify_seconds = 0.3;
  settings_.silent_seconds = 0;  // It answers in silence.
  job.spec.model_name = "hang";
  EXPECT_THAT(NewProcessRunner(settings_, clock_)->Verify(job, wanted),
              HasReason(Reason::kRunBudget));
}

TEST_F(ProcessRunnerTest, JournalsAreReplayedForSoLongAndNoLonger) {
  settings_.verify_seconds = 60;
  const auto wanted = [] { return true; };
  jobs::Job job{.id = "7"};
  job.spec.model_name = "same";
  ASSERT_OK_AND_ASSIGN(const worker::Replay same,
                       NewProcessRunner(settings_, clock_)->Replay(job, wanted));
  EXPECT_TRUE(same.is_result);
  EXPECT_EQ(same.model, BlobId::Of("jobs/7"));
  EXPECT_EQ(same.rewrites, 3);
  job.spec.model_name = "other";
  EXPECT_FALSE(NewProcessRunner(settings_, clock_)->Replay(job, wanted)->is_result);
  job.spec.model_name = "wrong";
  EXPECT_THAT(NewProcessRunner(settings_, clock_)->Replay(job, wanted),
              HasReason(Reason::kJournalInvalid, HasSubstr("rewrite 3")));
  job.spec.model_name = "hang";
  EXPECT_THAT(NewProcessRunner(settings_, clock_)->Replay(job, [] { return false; }),
              HasReason(Reason::kCancelled));
  settings_.verify_seconds = 0.3;
  settings_.silent_seconds = 0;  // It answers in silence.
  EXPECT_THAT(NewProcessRunner(settings_, clock_)->Replay(job, wanted),
              HasReason(Reason::kRunBudget));
}

}  // namespace
}  // namespace quotient::runner
