#include "server/store/sqlite/job_store.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "server/store/sqlite/client_bytes.h"
#include "server/store/sqlite/database.h"
#include "server/store/sqlite/free_pages.h"
#include "server/store/sqlite/records.h"
#include "server/store/sqlite/schema.h"
#include "server/store/sqlite/transaction.h"

namespace quotient::store {
namespace {

using jobs::Job;
using jobs::JobState;
using jobs::Transition;

// The statements that list jobs differ in the index that finds the rows.
#define QUOTIENT_LIST_JOBS(condition)                           \
  "SELECT " QUOTIENT_JOB_COLUMNS                                \
  ", number FROM job JOIN"                                      \
  " (SELECT number FROM job_index WHERE " condition             \
  "   AND (?1 = '' OR state = ?1) AND (?2 = '' OR client = ?2)" \
  "   AND (?3 = '' OR graph = ?3)"                              \
  "   AND create_ms > ?4 AND create_ms < ?5 AND number < ?6"    \
  "   ORDER BY number DESC LIMIT ?7) USING (number) ORDER BY number DESC"

const char* ListStatement(const jobs::JobFilter& filter) {
  if (!filter.graph_sha256.empty()) return QUOTIENT_LIST_JOBS("graph = ?3");
  if (!filter.client.empty()) return QUOTIENT_LIST_JOBS("client = ?2");
  if (filter.state.has_value()) return QUOTIENT_LIST_JOBS("state = ?1");
  return QUOTIENT_LIST_JOBS("TRUE");
}

class SqliteJobStore : public jobs::JobStore {
 public:
  SqliteJobStore(std::unique_ptr<Database> writer, std::unique_ptr<Database> reader,
                 const Clock* clock, std::function<void()> on_failure)
      : clock_(*clock),
        on_failure_(std::move(on_failure)),
        writer_(std::move(writer)),
        reader_(std::move(reader)) {}

  absl::Status Write(WriteFunction write) override {
    const absl::Status status = TryToWrite(write);
    if (GetReason(status) == Reason::kStorageDown) on_failure_();
    return status;
  }

  absl::StatusOr<std::optional<Job>> Get(absl::string_view id) override {
    absl::MutexLock lock(&read_mutex_);
    return FindJob(*reader_, id);
  }

  absl::StatusOr<std::optional<Job>> FindByActionKey(absl::string_view key) override {
    absl::MutexLock lock(&read_mutex_);
    return FindJobByActionKey(*reader_, key);
  }

  absl::Status List(const jobs::ListQuery& query, OnJob on_job) override {
    absl::MutexLock lock(&read_mutex_);
    const jobs::JobFilter& filter = query.filter;
    const absl::string_view state =
        filter.state.has_value() ? jobs::JobStateName(*filter.state) : "";
    int64_t before = query.before_number > 0 ? query.before_number : INT64_MAX;
    int64_t wanted = query.limit;
    // Once more for each part in which records could not be read.
    for (;;) {
      int64_t rows = 0, passed = 0;
      bool wants_more = true;
      const auto read = [&](const Row& row) -> absl::Status {
        ++rows;
        before = row.Int(4);
        const absl::StatusOr<Job> job = ReadJob(row);
        if (!job.ok()) {
          Log().error("job number {}: {}", before, std::string(job.status().message()));
          return absl::OkStatus();
        }
        ++passed;
        wants_more = on_job(before, *job);
        return wants_more ? absl::OkStatus() : absl::CancelledError("no more jobs are wanted");
      };
      const int64_t limit = wanted;
      const absl::Status status =
          reader_->Run(ListStatement(filter),
                       {state, filter.client, filter.graph_sha256, filter.created_after_ms,
                        filter.created_before_ms, before, limit},
                       read);
      if (!wants_more) return absl::OkStatus();
      QUOTIENT_RETURN_IF_ERROR(status);
      wanted -= passed;
      if (rows < limit || wanted == 0) return absl::OkStatus();
    }
  }

  absl::StatusOr<std::vector<Transition>> History(absl::string_view id,
                                                  int64_t after_sequence) override {
    absl::MutexLock lock(&read_mutex_);
    std::vector<Transition> history;
    QUOTIENT_RETURN_IF_ERROR(
        reader_->Run("SELECT " QUOTIENT_TRANSITION_COLUMNS
                     " FROM job_transition WHERE job_id = ? AND sequence > ? ORDER BY sequence",
                     {id, after_sequence}, [&](const Row& row) -> absl::Status {
                       QUOTIENT_ASSIGN_OR_RETURN(Transition transition, ReadTransition(row));
                       history.push_back(std::move(transition));
                       return absl::OkStatus();
                     }));
    return history;
  }

  absl::StatusOr<std::map<JobState, int64_t>> CountByState() override {
    absl::MutexLock lock(&read_mutex_);
    std::map<JobState, int64_t> counts;
    QUOTIENT_RETURN_IF_ERROR(
        reader_->Run("SELECT state, COUNT(*) FROM job_index GROUP BY state", {},
                     [&](const Row& row) -> absl::Status {
                       const std::optional<JobState> state = jobs::JobStateFromName(row.Text(0));
                       if (!state.has_value())
                         return MakeError(Reason::kInternal, "a job in an unknown state");
                       counts[*state] = row.Int(1);
                       return absl::OkStatus();
                     }));
    return counts;
  }

  absl::StatusOr<std::vector<std::string>> Overdue(int64_t now_ms) override {
    return Ids(
        "SELECT id FROM job JOIN job_index USING (number)"
        " WHERE start_by_ms > 0 AND start_by_ms <= ?",
        {now_ms});
  }

  absl::StatusOr<std::vector<std::string>> Unused(int64_t before_ms, int limit) override {
    return Ids(
        "SELECT id FROM job JOIN job_index USING (number)"
        " WHERE use_ms > 0 AND use_ms < ? ORDER BY use_ms LIMIT ?",
        {before_ms, int64_t{limit}});
  }

  absl::StatusOr<bool> Refers(const BlobId& blob) override {
    const std::string sha256 = blob.digest.Hex();
    return Exists("SELECT EXISTS (SELECT 1 FROM job_blob WHERE sha256 = ?)", {sha256});
  }

  absl::StatusOr<bool> IsWanted(const BlobId& blob, absl::string_view except,
                                int64_t unix_ms) override {
    const std::string sha256 = blob.digest.Hex();
    return Exists(
        "SELECT EXISTS (SELECT 1 FROM job_blob JOIN job ON job.id = job_id"
        " JOIN job_index USING (number)"
        " WHERE sha256 = ? AND job_id <> ? AND (use_ms = 0 OR use_ms >= ?))",
        {sha256, except, unix_ms});
  }

  absl::StatusOr<int64_t> BytesOf(absl::string_view client) override {
    absl::MutexLock lock(&read_mutex_);
    return BytesOfClient(*reader_, client);
  }

  absl::StatusOr<std::vector<BlobId>> Loose(std::optional<Digest> after, int limit) override {
    absl::MutexLock lock(&read_mutex_);
    const std::string last = after.has_value() ? after->Hex() : "";
    std::vector<BlobId> blobs;
    QUOTIENT_RETURN_IF_ERROR(
        reader_->Run("SELECT sha256, bytes FROM client_blob WHERE jobs = 0 AND sha256 > ?"
                     " ORDER BY sha256 LIMIT ?",
                     {last, int64_t{limit}}, [&](const Row& row) {
                       const std::optional<Digest> digest = Digest::FromHex(row.Text(0));
                       if (digest.has_value()) blobs.push_back({*digest, row.Int(1)});
                       return absl::OkStatus();
                     }));
    return blobs;
  }

  absl::StatusOr<int64_t> HeldBytes() override {
    absl::MutexLock lock(&read_mutex_);
    QUOTIENT_ASSIGN_OR_RETURN(const PageCounts pages, ReadPageCounts(*reader_));
    return (pages.count - pages.free) * pages.bytes;
  }

  absl::StatusOr<int64_t> GiveBack(int64_t most_bytes) override {
    absl::MutexLock lock(&write_mutex_);
    return GiveBackPages(*writer_, most_bytes);
  }

 private:
  absl::Status TryToWrite(WriteFunction write) {
    absl::MutexLock lock(&write_mutex_);
    QUOTIENT_RETURN_IF_ERROR(writer_->Execute("BEGIN IMMEDIATE"));
    const auto transaction = NewTransaction(writer_.get(), clock_.UnixMs());
    absl::Status status = write(*transaction);
    if (status.ok()) status = writer_->Execute("COMMIT");
    // After a failed commit SQLite may or may not have rolled back by itself.
    if (!status.ok()) writer_->Execute("ROLLBACK").IgnoreError();
    return status;
  }

  absl::StatusOr<bool> Exists(const char* sql, std::initializer_list<Parameter> parameters) {
    absl::MutexLock lock(&read_mutex_);
    QUOTIENT_ASSIGN_OR_RETURN(const int found, Count(*reader_, sql, parameters));
    return found != 0;
  }

  absl::StatusOr<std::vector<std::string>> Ids(const char* sql,
                                               std::initializer_list<Parameter> parameters) {
    absl::MutexLock lock(&read_mutex_);
    std::vector<std::string> ids;
    QUOTIENT_RETURN_IF_ERROR(reader_->Run(sql, parameters, [&](const Row& row) {
      ids.push_back(row.Text(0));
      return absl::OkStatus();
    }));
    return ids;
  }

  const Clock& clock_;
  const std::function<void()> on_failure_;

  absl::Mutex write_mutex_;
  const std::unique_ptr<Database> writer_ ABSL_PT_GUARDED_BY(write_mutex_);
  absl::Mutex read_mutex_;
  const std::unique_ptr<Database> reader_ ABSL_PT_GUARDED_BY(read_mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<jobs::JobStore>> OpenSqliteJobStore(const std::string& path,
                                                                   const Clock* clock,
                                                                   SqliteSettings settings) {
  PutTemporaryFiles(std::filesystem::absolute(path).parent_path());
  QUOTIENT_ASSIGN_OR_RETURN(auto writer, Database::Open(path, Database::Mode::kReadWrite));
  QUOTIENT_RETURN_IF_ERROR(AllowGivingBack(*writer));
  QUOTIENT_RETURN_IF_ERROR(PrepareSchema(*writer, clock->UnixMs()));
  RewriteToGiveBack(*writer, path, settings.min_free_bytes);
  QUOTIENT_ASSIGN_OR_RETURN(auto reader, Database::Open(path, Database::Mode::kReadOnly));
  return std::make_unique<SqliteJobStore>(std::move(writer), std::move(reader), clock,
                                          std::move(settings.on_failure));
}

}  // namespace quotient::store
