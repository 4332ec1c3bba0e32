#include "client/cli/output.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "client/cli/build_failure.h"
#include "core/os/files.h"
#include "core/report/report.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::cli {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::StatusIs;
using ::quotient::testing::TempDir;
using ::testing::HasSubstr;

class FakeResult : public ResultSource {
 public:
  absl::Status Model(Sink sink) override {
    QUOTIENT_RETURN_IF_ERROR(sink("mod"));
    QUOTIENT_RETURN_IF_ERROR(sink("el"));
    return model_status;
  }
  absl::Status ExternalData(Sink sink) override { return sink("data"); }
  std::string external_location() const override { return location; }
  absl::StatusOr<std::string> ReportJson() override { return report::ToJson(report); }
  absl::StatusOr<std::string> ReportHtml() override { return std::string("<html>"); }
  absl::StatusOr<std::string> Journal() override { return journal; }

  report::Report report;
  std::string location;
  std::string journal;
  absl::Status model_status;
};

class OutputTest : public ::testing::Test {
 protected:
  absl::Status Write() {
    Settings settings;
    settings.json = true;
    settings.output = dir_ / "out.onnx";
    settings.report = dir_ / "r.json";
    settings.html = dir_ / "r.html";
    settings.restat = restat_;
    settings.required_percent = required_percent_;
    if (wants_journal_) settings.journal = dir_ / "r.journal";
    if (wants_depfile_) {
      settings.positional = {"in/m.onnx"};
      settings.depfile = dir_ / "out.d";
    }
    QUOTIENT_ASSIGN_OR_RETURN(Output output, Output::Prepare(settings, original_));
    return output.Write(result_, original_);
  }
  bool Exists(const std::string& name) { return std::filesystem::exists(dir_ / name); }

  TempDir dir_;
  // Gives a file another time and returns that.
  std::filesystem::file_time_type MakeOld(const std::string& name) {
    const auto time = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    std::filesystem::last_write_time(dir_ / name, time);
    return std::filesystem::last_write_time(dir_ / name);
  }

  bool wants_journal_ = false;
  bool wants_depfile_ = false;
  bool restat_ = false;
  double required_percent_ = 0;
  FakeResult result_;
  OriginalData original_;
};

TEST_F(OutputTest, WritesWhatWasAskedFor) {
  result_.location = "out.onnx.data";
  ASSERT_OK(Write());
  ASSERT_OK_AND_ASSIGN(const std::string model, os::ReadFile(dir_ / "out.onnx"));
  EXPECT_EQ(model, "model");
  ASSERT_OK_AND_ASSIGN(const std::string data, os::ReadFile(dir_ / "out.onnx.data"));
  EXPECT_EQ(data, "data");
  EXPECT_TRUE(Exists("r.json") && Exists("r.html"));
}

TEST_F(OutputTest, AJournalIsWrittenIfItIsWanted) {
  result_.journal = "how it was made";
  ASSERT_OK(Write());
  EXPECT_FALSE(Exists("r.journal"));
  wants_journal_ = true;
  ASSERT_OK(Write());
  ASSERT_OK_AND_ASSIGN(const std::string journal, os::ReadFile(dir_ / "r.journal"));
  EXPECT_EQ(journal, "how it was made");
}

TEST_F(OutputTest, AResultWithoutAJournalIsWrittenAllTheSame) {
  wants_journal_ = true;
  EXPECT_THAT(Write(), HasReason(Reason::kJournalMissing, HasSubstr("no journal")));
  EXPECT_FALSE(Exists("r.journal"));
  EXPECT_TRUE(Exists("out.onnx") && Exists("r.json") && Exists("r.html"));
}

TEST_F(OutputTest, TheOriginalBringsItsDataAlongUnlessItLiesThere) {
  original_.files["sub/weights"] = [](ResultSource::Sink sink) { return sink("bytes"); };
  original_.folder = dir_.path();
  ASSERT_OK(Write());
  EXPECT_FALSE(Exists("sub"));
  original_.folder = "";
  ASSERT_OK(Write());
  ASSERT_OK_AND_ASSIGN(const std::string bytes, os::ReadFile(dir_ / "sub/weights"));
  EXPECT_EQ(bytes, "bytes");
}

// Two results whose submitters named no output: both call their weights model.onnx.data.
TEST_F(OutputTest, WeightsOfAnotherModelStay) {
  for (const bool original : {false, true}) {
    const std::string name = "model.onnx.data";
    std::ofstream(dir_ / name) << "other";
    result_.location = original ? "" : name;
    original_.files.clear();
    if (original) {
      original_.files[name] = [](ResultSource::Sink sink) { return sink("data"); };
    }
    EXPECT_THAT(Write(), HasReason(Reason::kOptionInvalid, HasSubstr(name)));
    ASSERT_OK_AND_ASSIGN(const std::string there, os::ReadFile(dir_ / name));
    EXPECT_EQ(there, "other");
    EXPECT_FALSE(Exists("out.onnx"));
    std::ofstream(dir_ / name) << "data";  // the same bytes: nothing is lost
    EXPECT_OK(Write());
    std::filesystem::remove(dir_ / "out.onnx");
  }
}

TEST_F(OutputTest, TheDataOfAnEarlierRunIsReplaced) {
  std::ofstream(dir_ / "out.onnx.data") << "earlier";
  result_.location = "out.onnx.data";
  ASSERT_OK(Write());
  ASSERT_OK_AND_ASSIGN(const std::string data, os::ReadFile(dir_ / "out.onnx.data"));
  EXPECT_EQ(data, "data");
}

// The input was renamed, its weights were not; or they are found there by a link.
TEST_F(OutputTest, TheDataThatTheInputNeedsStays) {
  std::ofstream(dir_ / "out.onnx.data") << "input's";
  result_.location = "out.onnx.data";
  original_.folder = dir_.path();
  original_.files["out.onnx.data"] = [](ResultSource::Sink sink) { return sink("input's"); };
  result_.report.outcome = report::Outcome::kImproved;
  EXPECT_THAT(Write(), HasReason(Reason::kOptionInvalid));
  ASSERT_OK_AND_ASSIGN(const std::string data, os::ReadFile(dir_ / "out.onnx.data"));
  EXPECT_EQ(data, "input's");
  ASSERT_OK(os::MakeDirectories(dir_ / "sub"));
  std::filesystem::create_symlink("../out.onnx.data", dir_ / "sub/weights");
  original_.files = {{"sub/weights", original_.files["out.onnx.data"]}};
  EXPECT_THAT(Write(), HasReason(Reason::kOptionInvalid, HasSubstr("weights of the input")));
}

TEST_F(OutputTest, NoOutputReplacesWeightsOfTheInput) {
  original_.folder = dir_.path();
  wants_journal_ = true;
  for (const char* const name : {"out.onnx", "r.json", "r.html", "r.journal"}) {
    std::ofstream(dir_ / name) << "weights";
    original_.files = {{name, [](ResultSource::Sink sink) { return sink("weights"); }}};
    EXPECT_THAT(Write(), HasReason(Reason::kOptionInvalid, HasSubstr("weights of the input")));
    ASSERT_OK_AND_ASSIGN(const std::string there, os::ReadFile(dir_ / name));
    EXPECT_EQ(there, "weights");
  }
}

TEST_F(OutputTest, NoReportReplacesTheWeightsOfTheResult) {
  wants_journal_ = true;
  result_.journal = "how it was made";
  for (const char* const name : {"r.json", "r.journal"}) {
    result_.location = name;
    EXPECT_THAT(Write(), HasReason(Reason::kOptionInvalid, HasSubstr("asked for twice")));
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(OutputTest, LinksDoNotLeadDataElsewhere) {
  TempDir elsewhere;
  std::filesystem::create_directory_symlink(elsewhere.path(), dir_ / "sub");
  original_.files["sub/weights"] = [](ResultSource::Sink sink) { return sink("bytes"); };
  EXPECT_THAT(Write(), HasReason(Reason::kOptionInvalid));
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
}

TEST_F(OutputTest, AFailureLeavesNothing) {
  result_.location = "out.onnx.data";
  result_.model_status = absl::UnavailableError("gone");
  EXPECT_THAT(Write(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(OutputTest, AServerCannotNameFilesElsewhere) {
  for (const char* location : {"../x", "/tmp/x", "a/b", "..", "out.onnx"}) {
    result_.location = location;
    EXPECT_THAT(Write(), HasReason(Reason::kInternal)) << location;
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(OutputTest, WhatIsEqualKeepsItsTimeIfThatIsWanted) {
  result_.location = "out.onnx.data";
  ASSERT_OK(Write());
  const std::vector<std::string> names = {"out.onnx", "out.onnx.data", "r.json", "r.html"};
  restat_ = true;
  for (const std::string& name : names) {
    const auto time = MakeOld(name);
    ASSERT_OK(Write());
    EXPECT_EQ(std::filesystem::last_write_time(dir_ / name), time) << name;
  }
  restat_ = false;
  ASSERT_OK(Write());
  for (const std::string& name : names) {
    const auto time = MakeOld(name);
    ASSERT_OK(Write());
    EXPECT_NE(std::filesystem::last_write_time(dir_ / name), time) << name;
  }
}

// A build looks at the model to know whether there is another result.
TEST_F(OutputTest, AModelWithOtherWeightsHasANewTime) {
  result_.location = "out.onnx.data";
  ASSERT_OK(Write());
  restat_ = true;
  const auto time = MakeOld("out.onnx");
  std::ofstream(dir_ / "out.onnx.data") << "other weights";
  ASSERT_OK(Write());
  EXPECT_NE(std::filesystem::last_write_time(dir_ / "out.onnx"), time);
}

TEST_F(OutputTest, TheOriginalBesideItsWeightsHasANewTime) {
  original_.folder = dir_.path();
  original_.files["weights"] = [](ResultSource::Sink sink) { return sink("bytes"); };
  ASSERT_OK(Write());
  restat_ = true;
  const auto time = MakeOld("out.onnx");
  ASSERT_OK(Write());
  EXPECT_NE(std::filesystem::last_write_time(dir_ / "out.onnx"), time);
}

TEST_F(OutputTest, TheDepfileHasTheModelAndItsData) {
  wants_depfile_ = true;
  original_.folder = "in";
  original_.files["sub/weights"] = [](ResultSource::Sink sink) { return sink("bytes"); };
  ASSERT_OK(Write());
  ASSERT_OK_AND_ASSIGN(const std::string rule, os::ReadFile(dir_ / "out.d"));
  EXPECT_THAT(rule, HasSubstr("out.onnx: \\\n  in/m.onnx \\\n  in/sub/weights\n"));
}

TEST_F(OutputTest, AGainThatIsTooSmallHasItsReportsAlone) {
  wants_journal_ = wants_depfile_ = true;
  result_.journal = "how it was made";
  required_percent_ = 5;
  const absl::Status small = Write();
  EXPECT_EQ(GetBuildFailure(small), BuildFailure::kImprovementTooSmall);
  EXPECT_TRUE(Exists("r.json") && Exists("r.html"));
  EXPECT_FALSE(Exists("out.onnx") || Exists("r.journal") || Exists("out.d"));
  result_.report.outcome = report::Outcome::kImproved;
  result_.report.predicted_speedup_percent = 5;
  ASSERT_OK(Write());
  EXPECT_TRUE(Exists("out.onnx") && Exists("r.journal") && Exists("out.d"));
}

// It was taken for what was predicted; a busy machine measures what it likes.
TEST_F(OutputTest, WhoDemandsNothingGetsAnyResult) {
  result_.report.outcome = report::Outcome::kImproved;
  result_.report.predicted_speedup_percent = -3;
  ASSERT_OK(Write());
  EXPECT_TRUE(Exists("out.onnx"));
}

TEST(OutputPrepareTest, AFolderThatIsNotThereIsAMistakeOfTheUser) {
  Settings settings;
  settings.output = "/nonexistent/folder/out.onnx";
  EXPECT_THAT(Output::Prepare(settings, {}),
              HasReason(Reason::kOptionInvalid, HasSubstr("/nonexistent/folder/out.onnx: ")));
}

TEST(OutputPrepareTest, OnlyRegularFilesAreReplaced) {
  TempDir dir;
  Settings settings;
  for (const std::string& path : {dir.path(), dir.path() + "/", std::string("/dev/null")}) {
    settings.output = path;
    EXPECT_THAT(Output::Prepare(settings, {}), HasReason(Reason::kOptionInvalid)) << path;
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(OutputPrepareTest, OneFileCannotBeTwoOutputs) {
  TempDir dir;
  Settings settings;
  settings.output = dir / "out";
  settings.html = dir / "out";
  EXPECT_THAT(Output::Prepare(settings, {}), HasReason(Reason::kOptionInvalid));
  ASSERT_OK(os::MakeDirectories(dir / "sub"));
  settings.html = dir / "sub/../out";
  EXPECT_THAT(Output::Prepare(settings, {}), HasReason(Reason::kOptionInvalid));
  settings.html = dir / "out.html";
  EXPECT_OK(Output::Prepare(settings, {}));
}

TEST(ExternalLocationTest, IsNamedAfterTheModel) {
  EXPECT_EQ(ExternalLocation("a/b/out.onnx"), "out.onnx.data");
  EXPECT_EQ(ExternalLocation(""), "model.onnx.data");
}

}  // namespace
}  // namespace quotient::cli
