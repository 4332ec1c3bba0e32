#include "server/store/sqlite/transaction.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "server/store/sqlite/client_bytes.h"
#include "server/store/sqlite/records.h"

namespace quotient::store {
namespace {

using jobs::Job;
using jobs::JobState;
using jobs::Lease;
using jobs::QueueHead;
using jobs::Submission;
using jobs::Transition;

absl::StatusOr<std::optional<Job>> FindOne(Database& db, const char* sql,
                                           std::initializer_list<Parameter> parameters) {
  std::optional<Job> found;
  QUOTIENT_RETURN_IF_ERROR(db.Run(sql, parameters, [&](const Row& row) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(found, ReadJob(row));
    return absl::OkStatus();
  }));
  return found;
}

class SqliteTransaction : public jobs::JobTransaction {
 public:
  SqliteTransaction(Database* db, int64_t now_ms) : db_(*db), now_ms_(now_ms) {}

  int64_t now_ms() const override { return now_ms_; }

  absl::StatusOr<std::optional<Job>> Find(absl::string_view id) override {
    return FindJob(db_, id);
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

  absl::Status PutLoose(absl::string_view client, std::span<const BlobId> blobs) override {
    return PutLooseBlobs(db_, client, blobs);
  }

  absl::Status RemoveLoose(std::span<const BlobId> blobs) override {
    return RemoveLooseBlobs(db_, blobs);
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

}  // namespace

absl::StatusOr<int> Count(Database& db, const char* sql,
                          std::initializer_list<Parameter> parameters) {
  int count = 0;
  QUOTIENT_RETURN_IF_ERROR(db.Run(sql, parameters, [&](const Row& row) {
    count = static_cast<int>(row.Int(0));
    return absl::OkStatus();
  }));
  return count;
}

absl::StatusOr<std::optional<Job>> FindJob(Database& db, absl::string_view id) {
  return FindOne(db, "SELECT " QUOTIENT_JOB_COLUMNS " FROM job WHERE id = ?", {id});
}

absl::StatusOr<std::optional<Job>> FindJobByActionKey(Database& db, absl::string_view key) {
  absl::StatusOr<std::optional<Job>> found =
      FindOne(db,
              "SELECT " QUOTIENT_JOB_COLUMNS
              " FROM job WHERE number ="
              " (SELECT number FROM job_index WHERE action_key = ?"
              "  AND (reusable = 1 OR joinable = 1) ORDER BY reusable DESC, number DESC LIMIT 1)",
              {key});
  if (GetReason(found.status()) == Reason::kInternal) return std::optional<Job>();
  return found;
}

std::unique_ptr<jobs::JobTransaction> NewTransaction(Database* db, int64_t now_ms) {
  return std::make_unique<SqliteTransaction>(db, now_ms);
}

}  // namespace quotient::store
