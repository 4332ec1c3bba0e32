#include "server/runner/core_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/optimize/devices.h"
#include "core/timing/store.h"
#include "server/store/disk/blob_store.h"
#include "tests/server/support/made_blobs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::runner {
namespace {

using ::quotient::testing::HasReason;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The device's snapshot as it comes from the store; what is done with it: see core/optimize.
class CoreRunnerTest : public ::testing::Test {
 protected:
  CoreRunnerTest() {
    auto blobs = store::DiskBlobStore::Open(dir_ / "blobs", {.min_free_bytes = 0});
    EXPECT_OK(blobs);
    blobs_ = *std::move(blobs);
  }

  absl::Status RunOn(const std::string& device) {
    jobs::Job job{.id = "job"};
    // There is no model: what is wrong with the device is found first.
    job.spec.model.graph = BlobId::Of("model");
    job.spec.options.device = device;
    testing::DiskBlobSink made(blobs_.get());
    const CoreTools tools{.blobs = blobs_.get(),
                          .made = &made,
                          .devices = &devices_,
                          .rule_store = nullptr,
                          .clock = &Clock::System()};
    return RunJob(tools, job, {}, nullptr, nullptr).status();
  }
  absl::Status RunOn(const BlobId& snapshot) { return RunOn("snapshot:" + snapshot.Text()); }

  testing::TempDir dir_;
  std::unique_ptr<store::DiskBlobStore> blobs_;
  std::unique_ptr<timing::TimingStore> timings_ = timing::NewMemoryStore();
  timing::Lane lane_;
  optimize::Devices devices_{{.store = timings_.get(), .lane = &lane_}};
};

TEST_F(CoreRunnerTest, ASnapshotThatIsGoneIsNamed) {
  const BlobId id = BlobId::Of("a snapshot");
  EXPECT_THAT(RunOn(id), HasReason(Reason::kBlobMissing, AllOf(HasSubstr("the device's snapshot"),
                                                               HasSubstr(id.Text()))));
}

TEST_F(CoreRunnerTest, ASnapshotThatWasDamagedOnTheDiskIsNamed) {
  ASSERT_OK_AND_ASSIGN(const BlobId id, testing::PutBlob(*blobs_, "a snapshot"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "blobs")) {
    if (entry.is_regular_file() && entry.path().filename() == id.digest.Hex()) {
      std::ofstream(entry.path()) << "A SNAPSHOT";
    }
  }
  EXPECT_THAT(RunOn(id), HasReason(Reason::kBlobCorrupt, AllOf(HasSubstr("the device's snapshot"),
                                                               HasSubstr(id.Text()))));
}

TEST_F(CoreRunnerTest, ADeviceThatIsNotThereIsFoundBeforeTheModelIsLookedAt) {
  EXPECT_THAT(RunOn("cuda:99"), HasReason(Reason::kDeviceNotPresent));
  EXPECT_THAT(RunOn("cpu"), HasReason(Reason::kBlobMissing));
}

TEST_F(CoreRunnerTest, ASnapshotThatIsThereIsHandedToTheCore) {
  ASSERT_OK_AND_ASSIGN(const BlobId id, testing::PutBlob(*blobs_, "a snapshot"));
  EXPECT_THAT(RunOn(id), HasReason(Reason::kOptionInvalid, HasSubstr("quotient-snapshot")));
}

}  // namespace
}  // namespace quotient::runner
