#include "server/runner/job_rights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/os/files.h"
#include "server/jobs/convert.h"
#include "server/store/disk/blob_files.h"
#include "tests/server/runner/in_child.h"
#include "tests/support/temp_dir.h"

namespace quotient::runner {
namespace {

// A data folder with a blob that is the model of a job and another one that is not, and what a
// server has in it besides.
class JobRightsTest : public ::testing::Test {
 protected:
  JobRightsTest() {
    for (const char* folder : {"blobs/incoming/job-1", "blobs/incoming/job-2", "checkpoints",
                               "uploads", "compiled", "tmp"}) {
      std::filesystem::create_directories(dir_ / folder);
    }
    for (const char* file :
         {"quotient.db", "LOCK", "RUN", "rules.db", "timings.db", "LANE", "LANE.next",
          "checkpoints/other", "uploads/other", "blobs/incoming/job-2/made", "compiled/code"}) {
      std::ofstream(dir_ / file) << "bytes";
    }
    for (const BlobId& id : {model_, other_}) {
      std::filesystem::create_directories(os::DirectoryOf(PathOf(id)));
      std::ofstream(PathOf(id)) << "bytes";
    }
    v1::Setup& setup = *request_.mutable_setup();
    setup.set_blobs_path(dir_ / "blobs");
    setup.set_outbox_path(dir_ / "blobs/incoming/job-1");
    setup.set_timings_path(dir_ / "timings.db");
    setup.set_compiled_path(dir_ / "compiled");
    setup.set_lane_path(dir_ / "LANE");
  }

  std::string PathOf(const BlobId& id) const { return store::BlobPath(dir_ / "blobs", id.digest); }

  void Run(const std::string& device) {
    jobs::Job job{.id = "j"};
    job.spec.model.graph = model_;
    job.spec.options.device = device;
    *request_.mutable_run()->mutable_job() = jobs::ToProto(job, std::nullopt);
  }

  // Whether each of the files can be opened so by who serves the request: '1' or '0'.
  std::string CanOpen(const std::vector<std::string>& files, int flags) const {
    std::string opened;
    for (const std::string& file : files) {
      const int can = InChildAfter(
          [this] {
            return RestrictFiles(RightsFor(request_, {{"TMPDIR", dir_ / "tmp"}})).ok();
          },
          [&] { return open(file.c_str(), flags, 0600) >= 0 ? 1 : 0; });
      opened += static_cast<char>('0' + can);
    }
    return opened;
  }

  testing::TempDir dir_;
  const BlobId model_ = BlobId::Of("model");
  const BlobId other_ = BlobId::Of("other");
  v1::Request request_;
};

TEST_F(JobRightsTest, AJobReadsItsModelAndWhatJobsShare) {
  Run("cpu");
  EXPECT_EQ(
      CanOpen({PathOf(model_), dir_ / "timings.db", "/proc/self/status", "/usr/bin/env"}, O_RDONLY),
      "1111");
  EXPECT_EQ(CanOpen({dir_ / "timings.db", dir_ / "LANE", dir_ / "LANE.next"}, O_RDWR | O_CREAT),
            "111");
  EXPECT_EQ(CanOpen({dir_ / "blobs/incoming/job-1/new", dir_ / "tmp/new"}, O_WRONLY | O_CREAT),
            "11");
}

TEST_F(JobRightsTest, AJobHasNothingOfTheServerNorOfOtherJobs) {
  Run("cpu");
  EXPECT_EQ(CanOpen({PathOf(other_), dir_ / "quotient.db", dir_ / "rules.db", dir_ / "LOCK",
                     dir_ / "checkpoints/other", dir_ / "uploads/other", dir_ / "compiled/code",
                     dir_ / "blobs/incoming/job-2/made", "/etc/shadow"},
                    O_RDONLY),
            "000000000");
  EXPECT_EQ(CanOpen({PathOf(model_), PathOf(other_), dir_ / "quotient.db", dir_ / "RUN"}, O_RDWR),
            "0000");
  EXPECT_EQ(CanOpen({dir_ / "new", dir_ / "blobs/new", dir_ / "blobs/incoming/new",
                     dir_ / "checkpoints/new", dir_ / "blobs/incoming/job-2/new"},
                    O_WRONLY | O_CREAT),
            "00000");
}

TEST_F(JobRightsTest, AJobOnAGpuHasTheCodeThatWasCompiledForIt) {
  Run("cuda:1");
  EXPECT_TRUE(UsesGpu(request_));
  EXPECT_EQ(CanOpen({dir_ / "compiled/code", dir_ / "compiled/new"}, O_RDWR | O_CREAT), "11");
  EXPECT_EQ(CanOpen({dir_ / "quotient.db"}, O_RDONLY), "0");
}

TEST_F(JobRightsTest, AQuestionReadsItsModelAndWritesNothing) {
  *request_.mutable_inspect()->mutable_model() =
      jobs::ToProto(jobs::Manifest{.graph = model_, .external_files = {}});
  EXPECT_FALSE(UsesGpu(request_));
  EXPECT_EQ(CanOpen({PathOf(model_), PathOf(other_), dir_ / "timings.db"}, O_RDONLY), "100");
  EXPECT_EQ(CanOpen({dir_ / "timings.db", dir_ / "tmp/new", dir_ / "blobs/incoming/job-1/new"},
                    O_RDWR | O_CREAT),
            "000");
}

TEST_F(JobRightsTest, AResultThatIsVerifiedIsRead) {
  jobs::Job job{.id = "j"};
  job.spec.model.graph = model_;
  job.result = jobs::JobResult{.model = other_, .report_json = model_, .report_html = model_};
  *request_.mutable_verify()->mutable_job() = jobs::ToProto(job, std::nullopt);
  EXPECT_EQ(CanOpen({PathOf(model_), PathOf(other_)}, O_RDONLY), "11");
  EXPECT_EQ(CanOpen({PathOf(other_)}, O_RDWR), "0");
}

TEST_F(JobRightsTest, AJournalThatIsReplayedIsRead) {
  jobs::Job job{.id = "j"};
  job.spec.model.graph = model_;
  job.result = jobs::JobResult{.model = model_, .report_json = model_, .report_html = model_};
  *request_.mutable_replay()->mutable_job() = jobs::ToProto(job, std::nullopt);
  EXPECT_EQ(CanOpen({PathOf(model_), PathOf(other_)}, O_RDONLY), "10");
  job.result->journal = other_;
  *request_.mutable_replay()->mutable_job() = jobs::ToProto(job, std::nullopt);
  EXPECT_EQ(CanOpen({PathOf(model_), PathOf(other_)}, O_RDONLY), "11");
  EXPECT_EQ(CanOpen({PathOf(other_)}, O_RDWR), "0");
}

}  // namespace
}  // namespace quotient::runner
