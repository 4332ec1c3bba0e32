#include "client/cli/result_cache.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/reason.h"
#include "core/os/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::cli {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::TempDir;

class MadeResult : public ResultSource {
 public:
  absl::Status Model(Sink sink) override {
    QUOTIENT_RETURN_IF_ERROR(sink("mod"));
    QUOTIENT_RETURN_IF_ERROR(sink("el"));
    return model_status;
  }
  absl::Status ExternalData(Sink sink) override { return sink("weights"); }
  std::string external_location() const override { return location; }
  absl::StatusOr<std::string> ReportJson() override { return std::string("{}"); }
  absl::StatusOr<std::string> ReportHtml() override { return std::string("<html>"); }
  absl::StatusOr<std::string> Journal() override { return journal; }

  std::string location;
  std::string journal;
  absl::Status model_status;
};

class ResultCacheTest : public ::testing::Test {
 protected:
  // Stages and keeps the result, and returns its lock.
  absl::StatusOr<Lock> Keep() {
    QUOTIENT_ASSIGN_OR_RETURN(StagedResult staged, StagedResult::Of(made_, cache_));
    const Lock lock = {{{"model", BlobId::Of("original").Text()}},
                       PinsOfResult("1", report::Outcome::kImproved, staged.files())};
    QUOTIENT_RETURN_IF_ERROR(staged.Keep(lock));
    return lock;
  }
  std::vector<std::string> Entries() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(cache_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  TempDir dir_;
  const std::string cache_ = dir_ / "made/here";
  MadeResult made_;
};

std::string BytesOf(const std::function<absl::Status(ModelSource::Sink)>& read) {
  std::string text;
  EXPECT_OK(read([&text](absl::string_view bytes) {
    text += std::string(bytes);
    return absl::OkStatus();
  }));
  return text;
}

TEST_F(ResultCacheTest, WhatIsKeptIsFound) {
  made_.location = "out.onnx.data";
  made_.journal = "how";
  ASSERT_OK_AND_ASSIGN(const Lock lock, Keep());
  EXPECT_EQ(lock.files().model, BlobId::Of("model"));
  const auto found = FindResult(cache_, lock);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(BytesOf([&](auto sink) { return found->Model(sink); }), "model");
  EXPECT_EQ(BytesOf([&](auto sink) { return found->ExternalData(sink); }), "weights");
  EXPECT_EQ(found->external_location(), "out.onnx.data");
  EXPECT_EQ(*found->ReportJson(), "{}");
  EXPECT_EQ(*found->ReportHtml(), "<html>");
  EXPECT_EQ(*found->Journal(), "how");
  EXPECT_THAT(Entries(), ::testing::ElementsAre(lock.Key()));
}

TEST_F(ResultCacheTest, AResultMayHaveNoWeightsAndNoJournal) {
  ASSERT_OK_AND_ASSIGN(const Lock lock, Keep());
  const auto found = FindResult(cache_, lock);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->external_location(), "");
  EXPECT_EQ(*found->Journal(), "");
}

TEST_F(ResultCacheTest, OtherLocksFindNothing) {
  ASSERT_OK_AND_ASSIGN(Lock lock, Keep());
  EXPECT_EQ(FindResult(dir_ / "elsewhere", lock), nullptr);
  lock.inputs["option budget"] = "5";
  EXPECT_EQ(FindResult(cache_, lock), nullptr);
}

TEST_F(ResultCacheTest, WhatIsDamagedIsNotUsedAndMadeAnew) {
  made_.location = "out.onnx.data";
  made_.journal = "how";
  ASSERT_OK_AND_ASSIGN(const Lock lock, Keep());
  const std::string folder = cache_ + "/" + lock.Key() + "/";
  for (const char* const name : {"contents", "model", "data", "report", "html", "journal"}) {
    for (const char* const bytes : {"", "x", "contents 1\n"}) {
      std::ofstream(folder + name) << bytes;
      EXPECT_EQ(FindResult(cache_, lock), nullptr) << name << " is '" << bytes << "'";
    }
    std::filesystem::remove(folder + name);
    EXPECT_EQ(FindResult(cache_, lock), nullptr) << name;
    ASSERT_OK(Keep());
    EXPECT_NE(FindResult(cache_, lock), nullptr);
  }
}

// Its files are whole, but they are not those that the lock file pins.
TEST_F(ResultCacheTest, AnEntryOfAnotherResultIsNotUsed) {
  ASSERT_OK_AND_ASSIGN(const Lock lock, Keep());
  made_.location = "out.onnx.data";
  ASSERT_OK_AND_ASSIGN(const Lock other, Keep());
  std::filesystem::remove_all(cache_ + "/" + lock.Key());
  std::filesystem::copy(cache_ + "/" + other.Key(), cache_ + "/" + lock.Key());
  EXPECT_EQ(FindResult(cache_, lock), nullptr);
}

TEST_F(ResultCacheTest, AFailureLeavesNothing) {
  made_.model_status = MakeError(Reason::kBlobCorrupt, "the server's disk");
  EXPECT_THAT(Keep(), HasReason(Reason::kBlobCorrupt));
  EXPECT_TRUE(Entries().empty());
}

}  // namespace
}  // namespace quotient::cli
