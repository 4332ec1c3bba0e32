#include "server/store/sqlite/job_store.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
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

namespace quotient::store {
namespace {

using jobs::Job;
using jobs::JobState;
using jobs::Lease;
using jobs::QueueHead;
using jobs::Submission;
using jobs::Transition;

absl::StatusOr<std::optional<Job>> FindJob(Database& db, const char* sql,
                                           std::initializer_list<Parameter> parameters) {
  std::optional<Job> found;
  QUOTIENT_RETURN_IF_ERROR(db.Run(sql, parameters, [&](const Row& row) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(found, ReadJob(row));
    return absl::OkStatus();
  }));
  return found;
}

// A job whose record cannot be read has no result for others.
absl::StatusOr<std::optional<Job>> FindJobByActionKey(Database& db, absl::string_view key) {
  absl::StatusOr<std::optional<Job>> found =
      FindJob(db,
              "SELECT " QUOTIENT_JOB_COLUMNS
              " FROM job WHERE number ="
              " (SELECT number FROM job_index WHERE action_key = ?"
              "  AND (reusable = 1 OR joinable = 1) ORDER BY reusable DESC, number DESC LIMIT 1)",
              {key});
  if (GetReason(found.status()) == Reason::kInternal) return std::optional<Job>();
  return found;
}

absl::StatusOr<int> Count(Database& db, const char* sql,
                          std::initializer_list<Parameter> parameters) {
  int count = 0;
  QUOTIENT_RETURN_IF_ERROR(db.Run(sql, parameters, [&](const Row& row) {
    count = static_cast<int>(row.Int(0));
    return absl::OkStatus();
  }));
  return count;
}

class SqliteTransaction : public jobs::JobTransaction {
 public:
  SqliteTransaction(Database* db, int64_t now_ms) : db_(*db), now_ms_(now_ms) {}

  int64_t now_ms() const override { return now_ms_; }

  absl::StatusOr<std::optional<Job>> Find(absl::string_view id) override {
    return FindJob(db_, "SELECT " QUOTIENT_JOB_COLUMNS " FROM job WHERE id = ?", {id});
  }

  absl::StatusOr<std::optional<Job>> FindByActionKey(absl::string_view key) override {
    return FindJobByActionKey(db_, key);
  }

  absl::StatusOr<std::vector<QueueHead>> QueueHeads(const std::set<std::string>& without) override {
    if (!without.empty()) return OtherHeads(without);
    std::vector<QueueHead> heads;
    QUOTIENT_RETURN_IF_ERROR(db_.Run(
        "SELECT client, (SELECT id FROM job WHERE job.number = head.number), rank FROM"
        " (SELECT client, rank, number,"
        "   ROW_NUMBER() OVER (PARTITION BY client ORDER BY rank, number) AS place"
        "  FROM job_index INDEXED BY job_queue WHERE state = 'QUEUED') AS head"
        " WHERE place = 1 ORDER BY client",
        {}, [&](const Row& row) {
          heads.push_back({.client = row.Text(0), .job_id = row.Text(1), .rank = row.Int(2)});
          return absl::OkStatus();
        }));
    return heads;
  }

  // Looks at all waiting jobs, as few are left out, and rarely.
  absl::StatusOr<std::vector<QueueHead>> OtherHeads(const std::set<std::string>& without) {
    std::vector<QueueHead> heads;
    QUOTIENT_RETURN_IF_ERROR(db_.Run(
        "SELECT client, id, rank FROM job_index INDEXED BY job_queue JOIN job USING (number)"
        " WHERE job_index.state = 'QUEUED' ORDER BY client, rank, number",
        {}, [&](const Row& row) {
          QueueHead head{.client = row.Text(0), .job_id = row.Text(1), .rank = row.Int(2)};
          const bool has_head = !heads.empty() && heads.back().client == head.client;
          if (!has_head && !without.contains(head.job_id)) heads.push_back(std::move(head));
          return absl::OkStatus();
        }));
    return heads;
  }

  absl::StatusOr<int> CountQueued() override {
    return Count(db_, "SELECT COUNT(*) FROM job_index WHERE state = 'QUEUED'", {});
  }

  absl::StatusOr<int> CountQueuedOf(absl::string_view client) override {
    return Count(db_,
                 "SELECT COUNT(*) FROM job_index INDEXED BY job_queue"
                 " WHERE state = 'QUEUED' AND client = ?",
                 {client});
  }

  absl::StatusOr<int64_t> BytesOf(absl::string_view client) override {
    return BytesOfClient(db_, client);
  }

  absl::StatusOr<int64_t> BytesNewTo(absl::string_view client,
                                     std::span<const BlobId> blobs) override {
    return BytesNewToClient(db_, client, blobs);
  }

  absl::Status Put(const Job& job) override {
    // A job that goes from one client to another is removed from the one and added to the other.
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<int64_t> counted, CountedRows(db_, job));
    if (!counted.has_value()) QUOTIENT_RETURN_IF_ERROR(RemoveBlobs(db_, job.id));
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t bytes, PutJob(db_, job));
    QUOTIENT_RETURN_IF_ERROR(CountRows(db_, job, counted.value_or(0), bytes));
    // A model can have thousands of files, and what a job refers to only changes at both ends.
    if (counted.has_value() && job.sequence > 1 && !IsTerminal(job.state)) return absl::OkStatus();
    return AddBlobs(db_, job);
  }

  absl::StatusOr<std::optional<JobState>> SetAside(absl::string_view id) override {
    QUOTIENT_RETURN_IF_ERROR(RemoveLease(id));
    QUOTIENT_RETURN_IF_ERROR(Discount(db_, id));
    std::optional<JobState> state;
    QUOTIENT_RETURN_IF_ERROR(
        db_.Run("DELETE FROM job_index WHERE number = (SELECT number FROM job WHERE id = ?)"
                " RETURNING state",
                {id}, [&](const Row& row) {
                  state = jobs::JobStateFromName(row.Text(0));
                  return absl::OkStatus();
                }));
    return state;
  }

  absl::Status Remove(absl::string_view id) override {
    QUOTIENT_RETURN_IF_ERROR(RemoveBlobs(db_, id));
    for (const char* const sql :
         {"DELETE FROM job_transition WHERE job_id = ?", "DELETE FROM submission WHERE job_id = ?",
          "DELETE FROM job_index WHERE number = (SELECT number FROM job WHERE id = ?)",
          "DELETE FROM job WHERE id = ?"}) {
      QUOTIENT_RETURN_IF_ERROR(db_.Run(sql, {id}));
    }
    return absl::OkStatus();
  }

  absl::Status Append(const Transition& transition) override {
    return db_.Run("INSERT INTO job_transition (" QUOTIENT_TRANSITION_COLUMNS
                   ") VALUES (?, ?, ?, ?, ?, ?, ?)",
                   {transition.job_id, transition.sequence, transition.time_ms,
                    jobs::JobStateName(transition.from), jobs::JobStateName(transition.to),
                    transition.actor, transition.reason});
  }

  absl::StatusOr<std::vector<Lease>> Leases() override {
    std::vector<Lease> leases;
    QUOTIENT_RETURN_IF_ERROR(db_.Run("SELECT job_id, owner, epoch FROM job_lease ORDER BY job_id",
                                     {}, [&](const Row& row) {
                                       leases.push_back(ReadLease(row));
                                       return absl::OkStatus();
                                     }));
    return leases;
  }

  absl::Status PutLease(const Lease& lease) override {
    return db_.Run(
        "INSERT OR REPLACE INTO job_lease (job_id, owner, epoch, until_ms) VALUES (?, ?, ?, 0)",
        {lease.job_id, lease.owner, lease.epoch});
  }

  absl::Status RemoveLease(absl::string_view job_id) override {
    return db_.Run("DELETE FROM job_lease WHERE job_id = ?", {job_id});
  }

  absl::StatusOr<std::optional<Submission>> FindSubmission(absl::string_view id) override {
    std::optional<Submission> found;
    QUOTIENT_RETURN_IF_ERROR(
        db_.Run("SELECT request_id, payload, job_id, create_ms, withdrawn, takes_early"
                " FROM submission"
                " WHERE request_id = ?",
                {id}, [&](const Row& row) {
                  found = ReadSubmission(row);
                  return absl::OkStatus();
                }));
    return found;
  }

  absl::Status PutSubmission(const Submission& submission) override {
    return db_.Run(
        "INSERT OR REPLACE INTO submission"
        " (request_id, payload, job_id, create_ms, withdrawn, takes_early)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        {submission.request_id, submission.payload, submission.job_id, submission.create_ms,
         int64_t{submission.withdrawn}, int64_t{submission.takes_early}});
  }

  absl::StatusOr<int> CountSubmissions(absl::string_view job_id) override {
    return Count(db_, "SELECT COUNT(*) FROM submission WHERE job_id = ?", {job_id});
  }

  absl::StatusOr<int> CountWishes(absl::string_view job_id) override {
    return Count(db_, "SELECT COUNT(*) FROM submission WHERE job_id = ? AND withdrawn = 0",
                 {job_id});
  }

  absl::StatusOr<int> CountFullWishes(absl::string_view job_id) override {
    return Count(db_,
                 "SELECT COUNT(*) FROM submission"
                 " WHERE job_id = ? AND withdrawn = 0 AND takes_early = 0",
                 {job_id});
  }

  absl::Status ForgetSubmissions(int64_t create_ms) override {
    return db_.Run(
        "DELETE FROM submission WHERE create_ms < ? AND EXISTS"
        " (SELECT 1 FROM job JOIN job_index USING (number) WHERE job.id = job_id"
        "  AND job_index.state IN ('SUCCEEDED', 'FAILED', 'CANCELLED'))",
        {create_ms});
  }

 private:
  Database& db_;
  const int64_t now_ms_;
};

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
                 const Clock* clock)
      : clock_(*clock), writer_(std::move(writer)), reader_(std::move(reader)) {}

  absl::Status Write(WriteFunction write) override {
    absl::MutexLock lock(&write_mutex_);
    QUOTIENT_RETURN_IF_ERROR(writer_->Execute("BEGIN IMMEDIATE"));
    SqliteTransaction transaction(writer_.get(), clock_.UnixMs());
    absl::Status status = write(transaction);
    if (status.ok()) status = writer_->Execute("COMMIT");
    // After a failed commit SQLite may or may not have rolled back by itself.
    if (!status.ok()) writer_->Execute("ROLLBACK").IgnoreError();
    return status;
  }

  absl::StatusOr<std::optional<Job>> Get(absl::string_view id) override {
    absl::MutexLock lock(&read_mutex_);
    return FindJob(*reader_, "SELECT " QUOTIENT_JOB_COLUMNS " FROM job WHERE id = ?", {id});
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

  absl::StatusOr<int64_t> HeldBytes() override {
    absl::MutexLock lock(&read_mutex_);
    QUOTIENT_ASSIGN_OR_RETURN(const Pages pages, ReadPages(*reader_));
    return (pages.count - pages.free) * pages.bytes;
  }

  absl::StatusOr<int64_t> GiveBack(int64_t most_bytes) override {
    absl::MutexLock lock(&write_mutex_);
    return GiveBackPages(*writer_, most_bytes);
  }

 private:
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

  absl::Mutex write_mutex_;
  const std::unique_ptr<Database> writer_ ABSL_PT_GUARDED_BY(write_mutex_);
  absl::Mutex read_mutex_;
  const std::unique_ptr<Database> reader_ ABSL_PT_GUARDED_BY(read_mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<jobs::JobStore>> OpenSqliteJobStore(const std::string& path,
                                                                   const Clock* clock) {
  QUOTIENT_ASSIGN_OR_RETURN(auto writer, Database::Open(path, Database::Mode::kReadWrite));
  QUOTIENT_RETURN_IF_ERROR(AllowGivingBack(*writer));
  QUOTIENT_RETURN_IF_ERROR(PrepareSchema(*writer, clock->UnixMs()));
  RewriteToGiveBack(*writer, path);
  QUOTIENT_ASSIGN_OR_RETURN(auto reader, Database::Open(path, Database::Mode::kReadOnly));
  return std::make_unique<SqliteJobStore>(std::move(writer), std::move(reader), clock);
}

}  // namespace quotient::store
