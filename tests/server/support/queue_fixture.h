#pragma once

// A whole queue over a store in memory or on disk, without workers and without gRPC.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/jobs/admission.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/dispatch.h"
#include "server/jobs/ledger.h"
#include "server/jobs/watch_hub.h"
#include "server/store/disk/blob_store.h"
#include "server/store/disk/checkpoint_store.h"
#include "tests/server/support/fake_clock.h"
#include "tests/server/support/made_blobs.h"
#include "tests/server/support/memory_job_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::testing {

// Remembers transitions as "QUEUED>RUNNING claimed".
class TransitionLog : public jobs::JobObserver {
 public:
  void OnTransition(const jobs::Job& /*job*/, const jobs::Transition& transition) override {
    lines_.push_back(absl::StrCat(JobStateName(transition.from), ">", JobStateName(transition.to),
                                  " ", transition.reason));
  }
  void OnSubmission(const jobs::Job& /*job*/, jobs::Disposition disposition) override {
    lines_.push_back(absl::StrCat("submission ", static_cast<int>(disposition)));
  }
  std::vector<std::string> Take() { return std::exchange(lines_, {}); }

 private:
  std::vector<std::string> lines_;
};

class QueueTest : public ::testing::Test {
 protected:
  QueueTest() {
    auto blobs = store::DiskBlobStore::Open(dir_ / "blobs", {.min_free_bytes = 0});
    EXPECT_OK(blobs);
    blobs_ = *std::move(blobs);
    auto checkpoints = store::DiskCheckpointStore::Open(dir_ / "checkpoints", blobs_.get());
    EXPECT_OK(checkpoints);
    checkpoint_store_ = *std::move(checkpoints);
    Restart();
    log_.Take();
  }

  // As a new process would find things: the store is all that is left.
  void Restart() {
    ledger_ = std::make_unique<jobs::Ledger>(store_.get());
    hub_ = std::make_unique<jobs::WatchHub>(&clock_);
    ledger_->AddObserver(hub_.get());
    ledger_->AddObserver(&log_);
    sent_ =
        std::make_unique<jobs::SentBlobs>(jobs::SentBlobs::Dependencies{.blobs = blobs_.get(),
                                                                        .inventory = blobs_.get(),
                                                                        .jobs = store_.get(),
                                                                        .clock = &clock_},
                                          limits_.max_bytes_per_client);
    dispatch_ = std::make_unique<jobs::Dispatch>(ledger_.get(), &clock_);
    checkpoints_ = std::make_unique<jobs::Checkpoints>(ledger_.get(), dispatch_.get(),
                                                       checkpoint_store_.get());
    admission_ = std::make_unique<jobs::Admission>(
        limits_,
        jobs::Admission::Dependencies{
            .ledger = ledger_.get(),
            .blobs = blobs_.get(),
            .clock = &clock_,
            .engine_version = engine_version_,
            .new_id = [this] { return absl::StrCat("id", ++last_id_); },
            .identify = [this](const optimize::Options& options) { return Identify(options); },
            .on_refusal = [this](const absl::Status& why) { refusals_.push_back(why); },
            .check_room = [this] { return room_; },
            .sent = sent_.get()});
  }

  // This machine has the device "cpu", which "auto" stands for. Nothing that is measured is there
  // while no_device_ says so.
  absl::StatusOr<optimize::DeviceIdentity> Identify(const optimize::Options& options) const {
    if (optimize::SnapshotOf(options.device).has_value()) {
      return optimize::DeviceIdentity{options.device, ""};
    }
    QUOTIENT_RETURN_IF_ERROR(no_device_);
    return optimize::DeviceIdentity{options.device == "auto" ? "cpu" : options.device,
                                    fingerprint_};
  }

  BlobId MustPut(absl::string_view bytes) {
    const absl::StatusOr<BlobId> id = PutBlob(*blobs_, bytes);
    EXPECT_OK(id);
    return *id;
  }

  jobs::SubmitRequest Request(absl::string_view model, const std::string& request_id = "") {
    jobs::SubmitRequest request{.request_id = request_id};
    request.spec.model_name = "m.onnx";
    request.spec.model.graph = MustPut(model);
    return request;
  }

  jobs::Admitted MustSubmit(const jobs::SubmitRequest& request) {
    auto admitted = admission_->Submit(request);
    EXPECT_OK(admitted);
    return *admitted;
  }

  jobs::Claimed MustClaim(absl::string_view worker = "test") {
    auto claimed = dispatch_->Claim(worker);
    EXPECT_OK(claimed);
    EXPECT_TRUE(claimed->has_value());
    return **claimed;
  }

  // Lets time pass in steps, in which a process that is awake looks at its leases. Returns how many
  // were lost.
  int PassAwake(int64_t ms) {
    constexpr int64_t kStepMs = 5000;
    int lost = 0;
    for (int64_t passed = 0; passed < ms; passed += kStepMs) {
      clock_.AdvanceMs(std::min(kStepMs, ms - passed));
      const absl::StatusOr<int> taken = dispatch_->RequeueLost();
      EXPECT_OK(taken);
      lost += *taken;
    }
    return lost;
  }

  jobs::Job MustGet(const std::string& id) {
    auto job = store_->Get(id);
    EXPECT_OK(job);
    EXPECT_TRUE(job->has_value());
    return **job;
  }

  // A result whose blobs are there.
  jobs::JobResult SomeResult() {
    const BlobId blob = MustPut("result");
    return {.outcome = report::Outcome::kImproved,
            .model = blob,
            .report_json = blob,
            .report_html = blob,
            .engine_version = "engine 1",
            .device_fingerprint = fingerprint_};
  }

  TempDir dir_;
  FakeClock clock_;
  TransitionLog log_;
  int last_id_ = 0;
  std::string engine_version_ = "engine 1";
  std::string fingerprint_ = "cpu; a core; oneDNN 1.0";
  absl::Status no_device_;
  std::vector<absl::Status> refusals_;  // Of submissions, in their order.
  absl::Status room_;                   // Whether the disk has room for one more job.
  jobs::AdmissionLimits limits_{.max_queued = 3};
  std::unique_ptr<store::DiskBlobStore> blobs_;
  std::unique_ptr<jobs::CheckpointStore> checkpoint_store_;
  std::unique_ptr<jobs::JobStore> store_ = store::NewMemoryJobStore(&clock_);
  std::unique_ptr<jobs::Ledger> ledger_;
  std::unique_ptr<jobs::SentBlobs> sent_;
  std::unique_ptr<jobs::WatchHub> hub_;
  std::unique_ptr<jobs::Dispatch> dispatch_;
  std::unique_ptr<jobs::Checkpoints> checkpoints_;
  std::unique_ptr<jobs::Admission> admission_;
};

}  // namespace quotient::testing
