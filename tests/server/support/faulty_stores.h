#pragma once

// Stores that fail when the test says so, as a full disk does.

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/reason.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/job_store.h"

namespace quotient::testing {

// Says whether something fails, and counts how often it did. Thread-safe.
class Fault {
 public:
  void Set(bool present) {
    absl::MutexLock lock(&mutex_);
    present_ = present;
  }
  // To be asked by what may fail.
  absl::Status Strike() {
    absl::MutexLock lock(&mutex_);
    if (!present_) return absl::OkStatus();
    ++strikes_;
    return MakeError(Reason::kStorageDown, "full");
  }
  // Blocks until it has struck so often.
  void AwaitStrikes(int count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return strikes_ >= count; };
    mutex_.Await(absl::Condition(&enough));
  }

 private:
  absl::Mutex mutex_;
  bool present_ ABSL_GUARDED_BY(mutex_) = false;
  int strikes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A job store whose writes may fail. Owns the store, borrows the fault.
class FaultyJobStore : public jobs::JobStore {
 public:
  FaultyJobStore(std::unique_ptr<jobs::JobStore> store, Fault* fault)
      : store_(std::move(store)), fault_(*fault) {}

  absl::Status Write(WriteFunction write) override {
    const absl::Status status = fault_.Strike();
    return status.ok() ? store_->Write(write) : status;
  }
  absl::StatusOr<std::optional<jobs::Job>> Get(absl::string_view id) override {
    return store_->Get(id);
  }
  absl::StatusOr<std::optional<jobs::Job>> FindByActionKey(absl::string_view key) override {
    return store_->FindByActionKey(key);
  }
  absl::Status List(const jobs::ListQuery& query, OnJob on_job) override {
    return store_->List(query, on_job);
  }
  absl::StatusOr<std::vector<jobs::Transition>> History(absl::string_view id,
                                                        int64_t after_sequence) override {
    return store_->History(id, after_sequence);
  }
  absl::StatusOr<std::map<jobs::JobState, int64_t>> CountByState() override {
    return store_->CountByState();
  }
  absl::StatusOr<std::vector<std::string>> Overdue(int64_t now_ms) override {
    return store_->Overdue(now_ms);
  }
  absl::StatusOr<std::vector<std::string>> Unused(int64_t before_ms, int limit) override {
    return store_->Unused(before_ms, limit);
  }
  absl::StatusOr<bool> IsWanted(const BlobId& blob, absl::string_view except,
                                int64_t unix_ms) override {
    return store_->IsWanted(blob, except, unix_ms);
  }
  absl::StatusOr<bool> Refers(const BlobId& blob) override { return store_->Refers(blob); }
  absl::StatusOr<int64_t> BytesOf(absl::string_view client) override {
    return store_->BytesOf(client);
  }
  absl::StatusOr<std::vector<BlobId>> Loose(std::optional<Digest> after, int limit) override {
    return store_->Loose(after, limit);
  }
  absl::StatusOr<int64_t> HeldBytes() override { return store_->HeldBytes(); }
  absl::StatusOr<int64_t> GiveBack(int64_t most_bytes) override {
    return store_->GiveBack(most_bytes);
  }

 private:
  const std::unique_ptr<jobs::JobStore> store_;
  Fault& fault_;
};

// Takes blobs or, at times, none. Borrows both.
class FaultyBlobSink : public jobs::BlobSink {
 public:
  FaultyBlobSink(jobs::BlobSink* sink, Fault* fault) : sink_(*sink), fault_(*fault) {}

  absl::StatusOr<BlobId> Put(absl::string_view bytes) override {
    if (absl::Status status = fault_.Strike(); !status.ok()) return status;
    return sink_.Put(bytes);
  }

 private:
  jobs::BlobSink& sink_;
  Fault& fault_;
};

}  // namespace quotient::testing
