#include "tests/server/support/memory_job_store.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "server/jobs/convert.h"

namespace quotient::store {
namespace {

using jobs::Job;
using jobs::JobState;
using jobs::Lease;
using jobs::QueueHead;
using jobs::Submission;
using jobs::Transition;

// No file is as large as that, but a damaged record may say so, and sums must not overflow.
constexpr int64_t kMostBlobBytes = int64_t{1} << 46;

struct LooseBlob {
  std::string client;
  int64_t bytes = 0;
};

// All content of the store. Write works on a copy, so that a failed one changes nothing.
struct Content {
  std::map<int64_t, Job> jobs;  // By number.
  std::map<std::string, Lease> leases;
  std::vector<Transition> transitions;
  std::map<std::string, Submission> submissions;
  std::map<Digest, LooseBlob> loose;
};

const Job* FindJob(const Content& content, absl::string_view id) {
  for (const auto& [number, job] : content.jobs) {
    if (job.id == id) return &job;
  }
  return nullptr;
}

const Job* FindJobByActionKey(const Content& content, absl::string_view key) {
  const Job* best = nullptr;
  for (const auto& [number, job] : content.jobs) {
    if (job.action_key != key) continue;
    const bool goes_on = job.state == JobState::kQueued || job.state == JobState::kRunning;
    const bool is_better = best == nullptr || !HasReusableEnd(*best);
    if (HasReusableEnd(job) || (goes_on && !job.stop_requested && is_better)) best = &job;
  }
  return best;
}

bool Accepts(const jobs::JobFilter& filter, const Job& job) {
  return (!filter.state.has_value() || job.state == *filter.state) &&
         (filter.client.empty() || job.client == filter.client) &&
         (filter.graph_sha256.empty() ||
          job.spec.model.graph.digest.Hex() == filter.graph_sha256) &&
         job.create_ms > filter.created_after_ms && job.create_ms < filter.created_before_ms;
}

bool Refers(const Content& content, const BlobId& blob) {
  return std::ranges::any_of(content.jobs, [&](const auto& entry) {
    return std::ranges::count(BlobsOf(entry.second), blob) > 0;
  });
}

// The blobs to which jobs of the client refer or that are loose for it, by their digests.
std::map<Digest, int64_t> BlobsOfClient(const Content& content, absl::string_view client) {
  std::map<Digest, int64_t> blobs;
  for (const auto& [digest, blob] : content.loose) {
    if (blob.client == client) blobs.emplace(digest, blob.bytes);
  }
  for (const auto& [number, job] : content.jobs) {
    if (job.client != client) continue;
    for (const BlobId& blob : BlobsOf(job)) blobs.emplace(blob.digest, blob.size_bytes);
  }
  return blobs;
}

int64_t SumOf(const std::map<Digest, int64_t>& blobs) {
  int64_t bytes = 0;
  for (const auto& [digest, size] : blobs) bytes += std::min(size, kMostBlobBytes);
  return bytes;
}

int64_t BytesOfClient(const Content& content, absl::string_view client) {
  int64_t bytes = SumOf(BlobsOfClient(content, client));
  for (const auto& [number, job] : content.jobs) {
    if (job.client == client) bytes += RowBytes(job);
  }
  return bytes;
}

std::optional<Job> Copy(const Job* job) {
  return job == nullptr ? std::nullopt : std::optional<Job>(*job);
}

class MemoryTransaction : public jobs::JobTransaction {
 public:
  MemoryTransaction(Content* content, int64_t now_ms) : content_(*content), now_ms_(now_ms) {}

  int64_t now_ms() const override { return now_ms_; }

  absl::StatusOr<std::optional<Job>> Find(absl::string_view id) override {
    return Copy(FindJob(content_, id));
  }

  absl::StatusOr<std::optional<Job>> FindByActionKey(absl::string_view key) override {
    return Copy(FindJobByActionKey(content_, key));
  }

  absl::StatusOr<std::vector<QueueHead>> QueueHeads(const std::set<std::string>& without) override {
    std::map<std::string, QueueHead> heads;
    for (const auto& [number, job] : content_.jobs) {
      if (job.state != JobState::kQueued || without.contains(job.id)) continue;
      const QueueHead head{job.client, job.id, QueueRank(job)};
      const auto [entry, is_new] = heads.emplace(job.client, head);
      if (!is_new && head.rank < entry->second.rank) entry->second = head;
    }
    std::vector<QueueHead> list;
    for (const auto& [client, head] : heads) list.push_back(head);
    return list;
  }

  absl::StatusOr<int> CountQueued() override {
    return static_cast<int>(std::ranges::count_if(
        content_.jobs, [](const auto& entry) { return entry.second.state == JobState::kQueued; }));
  }

  absl::StatusOr<int> CountQueuedOf(absl::string_view client) override {
    return static_cast<int>(std::ranges::count_if(content_.jobs, [&](const auto& entry) {
      return entry.second.state == JobState::kQueued && entry.second.client == client;
    }));
  }

  absl::StatusOr<int64_t> BytesOf(absl::string_view client) override {
    return BytesOfClient(content_, client);
  }

  absl::StatusOr<int64_t> BytesNewTo(absl::string_view client,
                                     std::span<const BlobId> blobs) override {
    std::map<Digest, int64_t> all = BlobsOfClient(content_, client);
    const int64_t before = SumOf(all);
    for (const BlobId& blob : blobs) all.emplace(blob.digest, blob.size_bytes);
    return SumOf(all) - before;
  }

  // Here all records can be read.
  absl::StatusOr<std::optional<JobState>> SetAside(absl::string_view /*id*/) override {
    return std::nullopt;
  }

  absl::Status Remove(absl::string_view id) override {
    const std::optional<Job> job = Copy(FindJob(content_, id));
    std::erase_if(content_.jobs, [&](const auto& entry) { return entry.second.id == id; });
    if (job.has_value()) QUOTIENT_RETURN_IF_ERROR(PutLoose(job->client, BlobsOf(*job)));
    std::erase_if(content_.transitions, [&](const auto& each) { return each.job_id == id; });
    std::erase_if(content_.submissions,
                  [&](const auto& entry) { return entry.second.job_id == id; });
    return absl::OkStatus();
  }

  absl::Status PutLoose(absl::string_view client, std::span<const BlobId> blobs) override {
    for (const BlobId& blob : blobs) {
      if (Refers(content_, blob)) continue;
      content_.loose[blob.digest] = {std::string(client),
                                     std::min(blob.size_bytes, kMostBlobBytes)};
    }
    return absl::OkStatus();
  }

  absl::Status RemoveLoose(std::span<const BlobId> blobs) override {
    for (const BlobId& blob : blobs) content_.loose.erase(blob.digest);
    return absl::OkStatus();
  }

  absl::Status Put(const Job& job) override {
    QUOTIENT_RETURN_IF_ERROR(RemoveLoose(BlobsOf(job)));
    for (auto& [number, present] : content_.jobs) {
      if (present.id != job.id) continue;
      present = job;
      return absl::OkStatus();
    }
    const int64_t last = content_.jobs.empty() ? 0 : content_.jobs.rbegin()->first;
    content_.jobs.emplace(last + 1, job);
    return absl::OkStatus();
  }

  absl::Status Append(const Transition& transition) override {
    content_.transitions.push_back(transition);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Lease>> Leases() override {
    std::vector<Lease> leases;
    for (const auto& [id, lease] : content_.leases) leases.push_back(lease);
    return leases;
  }

  absl::Status PutLease(const Lease& lease) override {
    content_.leases[lease.job_id] = lease;
    return absl::OkStatus();
  }

  absl::Status RemoveLease(absl::string_view job_id) override {
    content_.leases.erase(std::string(job_id));
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<Submission>> FindSubmission(absl::string_view id) override {
    const auto found = content_.submissions.find(std::string(id));
    if (found == content_.submissions.end()) return std::optional<Submission>();
    return std::optional<Submission>(found->second);
  }

  absl::Status PutSubmission(const Submission& submission) override {
    content_.submissions[submission.request_id] = submission;
    return absl::OkStatus();
  }

  absl::StatusOr<int> CountSubmissions(absl::string_view job_id) override {
    return static_cast<int>(std::ranges::count_if(
        content_.submissions, [&](const auto& entry) { return entry.second.job_id == job_id; }));
  }

  absl::StatusOr<int> CountWishes(absl::string_view job_id) override {
    return static_cast<int>(std::ranges::count_if(content_.submissions, [&](const auto& entry) {
      return entry.second.job_id == job_id && !entry.second.withdrawn;
    }));
  }

  absl::StatusOr<int> CountFullWishes(absl::string_view job_id) override {
    return static_cast<int>(std::ranges::count_if(content_.submissions, [&](const auto& entry) {
      return entry.second.job_id == job_id && !entry.second.withdrawn && !entry.second.takes_early;
    }));
  }

  absl::Status ForgetSubmissions(int64_t create_ms) override {
    std::erase_if(content_.submissions, [&](const auto& entry) {
      const Job* job = FindJob(content_, entry.second.job_id);
      return entry.second.create_ms < create_ms && job != nullptr && IsTerminal(job->state);
    });
    return absl::OkStatus();
  }

 private:
  Content& content_;
  const int64_t now_ms_;
};

class MemoryJobStore : public jobs::JobStore {
 public:
  explicit MemoryJobStore(const Clock* clock) : clock_(*clock) {}

  absl::Status Write(WriteFunction write) override {
    absl::MutexLock lock(&mutex_);
    Content changed = content_;
    MemoryTransaction transaction(&changed, clock_.UnixMs());
    absl::Status status = write(transaction);
    if (status.ok()) content_ = std::move(changed);
    return status;
  }

  absl::StatusOr<std::optional<Job>> Get(absl::string_view id) override {
    absl::MutexLock lock(&mutex_);
    return Copy(FindJob(content_, id));
  }

  absl::StatusOr<std::optional<Job>> FindByActionKey(absl::string_view key) override {
    absl::MutexLock lock(&mutex_);
    return Copy(FindJobByActionKey(content_, key));
  }

  absl::Status List(const jobs::ListQuery& query, OnJob on_job) override {
    absl::MutexLock lock(&mutex_);
    int listed = 0;
    for (auto it = content_.jobs.rbegin(); it != content_.jobs.rend(); ++it) {
      const auto& [number, job] = *it;
      if (!Accepts(query.filter, job)) continue;
      if (query.before_number > 0 && number >= query.before_number) continue;
      if (listed++ == query.limit || !on_job(number, job)) break;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Transition>> History(absl::string_view id,
                                                  int64_t after_sequence) override {
    absl::MutexLock lock(&mutex_);
    std::vector<Transition> history;
    for (const Transition& transition : content_.transitions) {
      if (transition.job_id == id && transition.sequence > after_sequence) {
        history.push_back(transition);
      }
    }
    return history;
  }

  absl::StatusOr<std::map<JobState, int64_t>> CountByState() override {
    absl::MutexLock lock(&mutex_);
    std::map<JobState, int64_t> counts;
    for (const auto& [number, job] : content_.jobs) ++counts[job.state];
    return counts;
  }

  absl::StatusOr<std::vector<std::string>> Overdue(int64_t now_ms) override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> ids;
    for (const auto& [number, job] : content_.jobs) {
      const bool waits = job.state == JobState::kQueued && job.start_by_ms > 0;
      if (waits && job.start_by_ms <= now_ms) ids.push_back(job.id);
    }
    return ids;
  }

  absl::StatusOr<std::vector<std::string>> Unused(int64_t before_ms, int limit) override {
    absl::MutexLock lock(&mutex_);
    std::multimap<int64_t, std::string> ended;
    for (const auto& [number, job] : content_.jobs) {
      if (job.use_ms > 0 && job.use_ms < before_ms) ended.emplace(job.use_ms, job.id);
    }
    std::vector<std::string> ids;
    for (const auto& [use_ms, id] : ended) {
      if (std::ssize(ids) < limit) ids.push_back(id);
    }
    return ids;
  }

  absl::StatusOr<bool> Refers(const BlobId& blob) override {
    return IsWanted(blob, "", /*unix_ms=*/0);
  }

  absl::StatusOr<bool> IsWanted(const BlobId& blob, absl::string_view except,
                                int64_t unix_ms) override {
    absl::MutexLock lock(&mutex_);
    return std::ranges::any_of(content_.jobs, [&](const auto& entry) {
      const Job& job = entry.second;
      const bool counts = job.id != except && (job.use_ms == 0 || job.use_ms >= unix_ms);
      return counts && std::ranges::count(BlobsOf(job), blob) > 0;
    });
  }

  absl::StatusOr<int64_t> BytesOf(absl::string_view client) override {
    absl::MutexLock lock(&mutex_);
    return BytesOfClient(content_, client);
  }

  absl::StatusOr<std::vector<BlobId>> Loose(std::optional<Digest> after, int limit) override {
    absl::MutexLock lock(&mutex_);
    std::vector<BlobId> blobs;
    for (const auto& [digest, blob] : content_.loose) {
      const bool is_listed = !after.has_value() || digest > *after;
      if (is_listed && std::ssize(blobs) < limit) blobs.push_back({digest, blob.bytes});
    }
    return blobs;
  }

  absl::StatusOr<int64_t> HeldBytes() override {
    absl::MutexLock lock(&mutex_);
    int64_t bytes = 0;
    for (const auto& [number, job] : content_.jobs) bytes += RowBytes(job);
    return bytes;
  }

  absl::StatusOr<int64_t> GiveBack(int64_t /*most_bytes*/) override { return 0; }

 private:
  const Clock& clock_;

  absl::Mutex mutex_;
  Content content_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<jobs::JobStore> NewMemoryJobStore(const Clock* clock) {
  return std::make_unique<MemoryJobStore>(clock);
}

}  // namespace quotient::store
