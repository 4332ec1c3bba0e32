// Metrics of the job store, of checkpoints and of uploads.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "server/ops/metered.h"

namespace quotient::ops {
namespace {

class MeteredJobStore : public jobs::JobStore {
 public:
  MeteredJobStore(std::unique_ptr<jobs::JobStore> store, const Clock* clock, Metrics* metrics)
      : store_(std::move(store)), clock_(*clock), metrics_(*metrics) {}

  absl::Status Write(WriteFunction write) override {
    return Timed("write", [&] { return store_->Write(write); });
  }
  absl::StatusOr<std::optional<jobs::Job>> Get(absl::string_view id) override {
    return Timed("read", [&] { return store_->Get(id); });
  }
  absl::StatusOr<std::optional<jobs::Job>> FindByActionKey(absl::string_view key) override {
    return Timed("read", [&] { return store_->FindByActionKey(key); });
  }
  absl::Status List(const jobs::ListQuery& query, OnJob on_job) override {
    return Timed("read", [&] { return store_->List(query, on_job); });
  }
  absl::StatusOr<std::vector<jobs::Transition>> History(absl::string_view id,
                                                        int64_t after_sequence) override {
    return Timed("read", [&] { return store_->History(id, after_sequence); });
  }
  absl::StatusOr<std::map<jobs::JobState, int64_t>> CountByState() override {
    return Timed("read", [&] { return store_->CountByState(); });
  }
  absl::StatusOr<std::vector<std::string>> Overdue(int64_t now_ms) override {
    return Timed("read", [&] { return store_->Overdue(now_ms); });
  }
  absl::StatusOr<std::vector<std::string>> Unused(int64_t before_ms, int limit) override {
    return Timed("read", [&] { return store_->Unused(before_ms, limit); });
  }
  absl::StatusOr<bool> IsWanted(const BlobId& blob, absl::string_view except,
                                int64_t unix_ms) override {
    return Timed("read", [&] { return store_->IsWanted(blob, except, unix_ms); });
  }
  absl::StatusOr<bool> Refers(const BlobId& blob) override {
    return Timed("read", [&] { return store_->Refers(blob); });
  }
  absl::StatusOr<int64_t> BytesOf(absl::string_view client) override {
    return Timed("read", [&] { return store_->BytesOf(client); });
  }
  absl::StatusOr<std::vector<BlobId>> Loose(std::optional<Digest> after, int limit) override {
    return Timed("read", [&] { return store_->Loose(after, limit); });
  }
  absl::StatusOr<int64_t> HeldBytes() override {
    return Timed("read", [&] { return store_->HeldBytes(); });
  }
  // Not timed: it is asked each second and mostly does nothing.
  absl::StatusOr<int64_t> GiveBack(int64_t most_bytes) override {
    return store_->GiveBack(most_bytes);
  }

 private:
  static const absl::Status& StatusOf(const absl::Status& status) { return status; }
  template <typename T>
  static const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
    return result.status();
  }

  template <typename Operation>
  std::invoke_result_t<Operation> Timed(absl::string_view op, Operation operation) {
    const int64_t start_ns = clock_.NowNs();
    std::invoke_result_t<Operation> result = operation();
    metrics_.Observe(MetricId::kStoreOpSeconds, {op}, clock_.SecondsSince(start_ns));
    // Other errors are not failures of the store: `write` refused the change.
    if (GetReason(StatusOf(result)) == Reason::kStorageDown) {
      metrics_.Add(MetricId::kStoreErrors, {op});
    }
    return result;
  }

  const std::unique_ptr<jobs::JobStore> store_;
  const Clock& clock_;
  Metrics& metrics_;
};

class MeteredCheckpoint : public jobs::StagedCheckpoint {
 public:
  // `on_commit` is told whether the commit succeeded. A checkpoint of a worker that has lost its
  // lease is not committed, which is no failure.
  MeteredCheckpoint(std::unique_ptr<jobs::StagedCheckpoint> staged,
                    std::function<void(const absl::Status&)> on_commit)
      : staged_(std::move(staged)), on_commit_(std::move(on_commit)) {}

  absl::Status Commit() override {
    absl::Status status = staged_->Commit();
    on_commit_(status);
    return status;
  }

 private:
  const std::unique_ptr<jobs::StagedCheckpoint> staged_;
  const std::function<void(const absl::Status&)> on_commit_;
};

class MeteredCheckpointStore : public jobs::CheckpointStore {
 public:
  MeteredCheckpointStore(std::unique_ptr<jobs::CheckpointStore> store, const Clock* clock,
                         Metrics* metrics)
      : store_(std::move(store)), clock_(*clock), metrics_(*metrics) {}

  absl::StatusOr<std::unique_ptr<jobs::StagedCheckpoint>> Stage(absl::string_view job_id,
                                                                absl::string_view bytes) override {
    const int64_t start_ns = clock_.NowNs();
    absl::StatusOr<std::unique_ptr<jobs::StagedCheckpoint>> staged = store_->Stage(job_id, bytes);
    if (!staged.ok()) {
      Count(staged.status(), start_ns, 0);
      return staged;
    }
    return std::make_unique<MeteredCheckpoint>(
        *std::move(staged), [this, start_ns, size = bytes.size()](const absl::Status& status) {
          Count(status, start_ns, size);
        });
  }
  absl::StatusOr<std::string> Get(absl::string_view job_id) override { return store_->Get(job_id); }
  absl::Status Remove(absl::string_view job_id) override { return store_->Remove(job_id); }
  absl::StatusOr<std::vector<std::string>> List() override { return store_->List(); }

 private:
  void Count(const absl::Status& status, int64_t start_ns, size_t size) {
    metrics_.Add(MetricId::kCheckpoints, {status.ok() ? "saved" : "failed"});
    metrics_.Observe(MetricId::kCheckpointSeconds, {}, clock_.SecondsSince(start_ns));
    if (status.ok()) metrics_.Add(MetricId::kCheckpointBytes, {}, static_cast<double>(size));
  }

  const std::unique_ptr<jobs::CheckpointStore> store_;
  const Clock& clock_;
  Metrics& metrics_;
};

class MeteredUploadWriter : public jobs::UploadWriter {
 public:
  MeteredUploadWriter(std::unique_ptr<jobs::UploadWriter> writer, Metrics* metrics)
      : writer_(std::move(writer)), metrics_(*metrics) {}

  ~MeteredUploadWriter() override {
    if (!finished_) metrics_.Add(MetricId::kUploads, {"interrupted"});
  }

  absl::Status Append(absl::string_view bytes) override {
    metrics_.Add(MetricId::kUploadBytes, {}, static_cast<double>(bytes.size()));
    return writer_->Append(bytes);
  }
  int64_t committed_offset() const override { return writer_->committed_offset(); }
  absl::Status Flush() override { return writer_->Flush(); }
  absl::Status Finish() override {
    absl::Status status = writer_->Finish();
    finished_ = status.ok() || GetReason(status) == Reason::kBadDigest;
    if (finished_) {
      metrics_.Add(MetricId::kUploads, {status.ok() ? "committed" : "digest_mismatch"});
    }
    return status;
  }

 private:
  const std::unique_ptr<jobs::UploadWriter> writer_;
  Metrics& metrics_;
  bool finished_ = false;
};

class MeteredUploadStore : public jobs::UploadStore {
 public:
  MeteredUploadStore(std::unique_ptr<jobs::UploadStore> store, Metrics* metrics)
      : store_(std::move(store)), metrics_(*metrics) {}

  absl::StatusOr<jobs::UploadTicket> Start(const BlobId& blob, absl::string_view client) override {
    absl::StatusOr<jobs::UploadTicket> ticket = store_->Start(blob, client);
    if (ticket.ok() && ticket->done) metrics_.Add(MetricId::kUploads, {"deduplicated"});
    return ticket;
  }
  absl::StatusOr<int64_t> CommittedOffset(absl::string_view upload_id) override {
    return store_->CommittedOffset(upload_id);
  }
  absl::StatusOr<std::unique_ptr<jobs::UploadWriter>> Resume(absl::string_view upload_id,
                                                             int64_t offset) override {
    QUOTIENT_ASSIGN_OR_RETURN(auto writer, store_->Resume(upload_id, offset));
    return std::make_unique<MeteredUploadWriter>(std::move(writer), &metrics_);
  }
  absl::Status Expire(int64_t unix_ms, int64_t empty_unix_ms) override {
    return store_->Expire(unix_ms, empty_unix_ms);
  }
  jobs::UploadLoad Load() const override { return store_->Load(); }

 private:
  const std::unique_ptr<jobs::UploadStore> store_;
  Metrics& metrics_;
};

}  // namespace

std::unique_ptr<jobs::JobStore> NewMeteredJobStore(std::unique_ptr<jobs::JobStore> store,
                                                   const Clock* clock, Metrics* metrics) {
  return std::make_unique<MeteredJobStore>(std::move(store), clock, metrics);
}

std::unique_ptr<jobs::CheckpointStore> NewMeteredCheckpointStore(
    std::unique_ptr<jobs::CheckpointStore> store, const Clock* clock, Metrics* metrics) {
  return std::make_unique<MeteredCheckpointStore>(std::move(store), clock, metrics);
}

std::unique_ptr<jobs::UploadStore> NewMeteredUploadStore(std::unique_ptr<jobs::UploadStore> store,
                                                         Metrics* metrics) {
  return std::make_unique<MeteredUploadStore>(std::move(store), metrics);
}

}  // namespace quotient::ops
