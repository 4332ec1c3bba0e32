#pragma once

// Interface of the store for jobs. A store only keeps and finds jobs, in atomic transactions. The
// rules for jobs are in Ledger, Admission and Dispatch.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "server/jobs/job.h"

namespace quotient::jobs {

// The next one of a client's waiting jobs.
struct QueueHead {
  std::string client;
  std::string job_id;
  int64_t rank = 0;  // QueueRank

  friend bool operator==(const QueueHead&, const QueueHead&) = default;
};

// A write transaction, valid only during JobStore::Write. Reads see the transaction's own changes.
class JobTransaction {
 public:
  virtual ~JobTransaction() = default;

  // Unix time by the store's clock, for records. Constant within a transaction.
  virtual int64_t now_ms() const = 0;

  virtual absl::StatusOr<std::optional<Job>> Find(absl::string_view id) = 0;
  // Returns the newest job with this key that has a reusable end; if there is none, the newest one
  // that waits or runs and was not told to stop.
  virtual absl::StatusOr<std::optional<Job>> FindByActionKey(absl::string_view key) = 0;
  // Returns of each client that has waiting jobs, other than those with these ids, the one of the
  // least rank, or the oldest of these.
  virtual absl::StatusOr<std::vector<QueueHead>> QueueHeads(
      const std::set<std::string>& without) = 0;
  virtual absl::StatusOr<int> CountQueued() = 0;
  virtual absl::StatusOr<int> CountQueuedOf(absl::string_view client) = 0;
  // Returns the bytes that are stored for the client: of all blobs to which its jobs refer or that
  // are loose for it, each of them counted once, and of the jobs' own rows (RowBytes); and how many
  // more these blobs would add if another one of its jobs referred to them. What that takes does
  // not depend on the number of jobs.
  virtual absl::StatusOr<int64_t> BytesOf(absl::string_view client) = 0;
  virtual absl::StatusOr<int64_t> BytesNewTo(absl::string_view client,
                                             std::span<const BlobId> blobs) = 0;
  // A blob that no job refers to is loose: it counts for one client as long as it is there, the one
  // that has sent it last or whose removed job was the last one to refer to it. Says that these
  // blobs are loose for this client, but for those to which a job refers.
  virtual absl::Status PutLoose(absl::string_view client, std::span<const BlobId> blobs) = 0;
  // Says that these are not there any more, and count for nobody if they were loose.
  virtual absl::Status RemoveLoose(std::span<const BlobId> blobs) = 0;
  // Adds the job or replaces the one with its id.
  virtual absl::Status Put(const Job& job) = 0;
  // Takes a job whose record cannot be read out of all searches, and removes its lease, so that it
  // keeps no other one from anything. Returns the state in which it was found until now; nothing if
  // it was not found.
  virtual absl::StatusOr<std::optional<JobState>> SetAside(absl::string_view id) = 0;
  // Removes a job that has ended, its transitions and its submissions. Blobs to which no other job
  // refers are then loose for its client.
  virtual absl::Status Remove(absl::string_view id) = 0;
  virtual absl::Status Append(const Transition& transition) = 0;

  // Returns the leases of all jobs that run, by job id. There is at most one per job.
  virtual absl::StatusOr<std::vector<Lease>> Leases() = 0;
  virtual absl::Status PutLease(const Lease& lease) = 0;
  virtual absl::Status RemoveLease(absl::string_view job_id) = 0;

  virtual absl::StatusOr<std::optional<Submission>> FindSubmission(absl::string_view id) = 0;
  virtual absl::Status PutSubmission(const Submission& submission) = 0;
  // Returns the number of all of the job's submissions.
  virtual absl::StatusOr<int> CountSubmissions(absl::string_view job_id) = 0;
  // Returns the number of the job's submissions that were not withdrawn; for all of its result, of
  // those that do not take an early one either.
  virtual absl::StatusOr<int> CountWishes(absl::string_view job_id) = 0;
  virtual absl::StatusOr<int> CountFullWishes(absl::string_view job_id) = 0;
  // Removes submissions made before `create_ms`, except those of jobs that have not ended.
  virtual absl::Status ForgetSubmissions(int64_t create_ms) = 0;
};

// What is unset or empty lets all jobs through.
struct JobFilter {
  std::optional<JobState> state;
  std::string client;
  std::string graph_sha256;  // Of the model's ONNX file.
  int64_t created_after_ms = std::numeric_limits<int64_t>::min();
  int64_t created_before_ms = std::numeric_limits<int64_t>::max();
};

struct ListQuery {
  JobFilter filter;
  // Only jobs with smaller numbers; 0 starts with the newest job. Numbers grow with every job
  // added.
  int64_t before_number = 0;
  int limit = 50;
};

// Thread-safe. Errors: STORAGE_DOWN, and INTERNAL for records that cannot be read.
class JobStore {
 public:
  using WriteFunction = absl::FunctionRef<absl::Status(JobTransaction&)>;
  using OnJob = absl::FunctionRef<bool(int64_t number, const Job& job)>;

  virtual ~JobStore() = default;

  // Runs `write` in a transaction. If this returns OK, all that it wrote is durable. Otherwise
  // nothing was changed, and the error is that of `write` or of the commit. If the disk is full,
  // the store gives up what it keeps for that, so that another write may succeed. Writes are
  // serialized; blocks.
  virtual absl::Status Write(WriteFunction write) = 0;

  virtual absl::StatusOr<std::optional<Job>> Get(absl::string_view id) = 0;
  // As JobTransaction has it.
  virtual absl::StatusOr<std::optional<Job>> FindByActionKey(absl::string_view key) = 0;
  // Passes jobs to `on_job`, but those whose records cannot be read, newest first, until there is
  // no other one, there were `limit`, or it returns false. A job can have megabytes, so not more
  // than one is in memory at a time.
  virtual absl::Status List(const ListQuery& query, OnJob on_job) = 0;
  // Returns the job's transitions after a sequence number, oldest first.
  virtual absl::StatusOr<std::vector<Transition>> History(absl::string_view id,
                                                          int64_t after_sequence) = 0;
  // Returns the number of jobs in each state. States without jobs are left out.
  virtual absl::StatusOr<std::map<JobState, int64_t>> CountByState() = 0;
  // Returns the ids of waiting jobs that should have begun by now.
  virtual absl::StatusOr<std::vector<std::string>> Overdue(int64_t now_ms) = 0;
  // Returns the ids of jobs that have ended and were last used before this time, those first that
  // were not used for longest, at most `limit`.
  virtual absl::StatusOr<std::vector<std::string>> Unused(int64_t before_ms, int limit) = 0;
  // Whether a job needs or has made this blob.
  virtual absl::StatusOr<bool> Refers(const BlobId& blob) = 0;
  // The same of jobs other than `except` that have not ended, or were used at `unix_ms` or later.
  virtual absl::StatusOr<bool> IsWanted(const BlobId& blob, absl::string_view except,
                                        int64_t unix_ms) = 0;
  // As JobTransaction has it.
  virtual absl::StatusOr<int64_t> BytesOf(absl::string_view client) = 0;
  // Returns loose blobs in the order of their digests, those after this one, at most `limit`.
  virtual absl::StatusOr<std::vector<BlobId>> Loose(std::optional<Digest> after, int limit) = 0;
  // Returns what all jobs take in the store, without what removed ones have left free in it.
  virtual absl::StatusOr<int64_t> HeldBytes() = 0;
  // Gives some of what removed jobs have left free back to the disk, at most so many bytes, and
  // returns how many. Other writes wait meanwhile. Nothing if little is free, which jobs to come
  // will use.
  virtual absl::StatusOr<int64_t> GiveBack(int64_t most_bytes) = 0;
};

}  // namespace quotient::jobs
