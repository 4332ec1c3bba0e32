#include "server/jobs/job.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/base/checked.h"

namespace quotient::jobs {
namespace {

struct StateRow {
  JobState state;
  const char* name;
  bool terminal;
};

constexpr StateRow kStates[] = {
    {JobState::kQueued, "QUEUED", false},         {JobState::kRunning, "RUNNING", false},
    {JobState::kCancelling, "CANCELLING", false}, {JobState::kSucceeded, "SUCCEEDED", true},
    {JobState::kFailed, "FAILED", true},          {JobState::kCancelled, "CANCELLED", true},
};

}  // namespace

std::string Manifest::CanonicalText() const {
  std::string text = absl::StrCat("graph ", graph.Text(), "\n");
  for (const auto& [location, blob] : external_files) {
    // With its length, a location is unambiguous whatever bytes it contains.
    absl::StrAppend(&text, "external ", blob.Text(), " ", location.size(), " ", location, "\n");
  }
  return text;
}

std::vector<BlobId> JobSpec::Blobs() const {
  std::vector<BlobId> blobs = {model.graph};
  for (const auto& [location, blob] : model.external_files) blobs.push_back(blob);
  if (const auto snapshot = optimize::SnapshotOf(options.device)) blobs.push_back(*snapshot);
  return blobs;
}

int64_t Manifest::TotalBytes() const {
  int64_t total = graph.size_bytes;
  for (const auto& [location, blob] : external_files) {
    total = CheckedAdd(total, blob.size_bytes).value_or(std::numeric_limits<int64_t>::max());
  }
  return total;
}

JobPolicy MostOf(const JobPolicy& a, const JobPolicy& b) {
  const auto longest = [](int64_t x, int64_t y) { return x == 0 || y == 0 ? 0 : std::max(x, y); };
  return {.priority = std::max(a.priority, b.priority),
          .queue_ms = longest(a.queue_ms, b.queue_ms),
          .run_ms = longest(a.run_ms, b.run_ms)};
}

absl::string_view JobStateName(JobState state) { return kStates[static_cast<int>(state)].name; }

std::optional<JobState> JobStateFromName(absl::string_view name) {
  for (const StateRow& row : kStates) {
    if (name == row.name) return row.state;
  }
  return std::nullopt;
}

bool IsTerminal(JobState state) { return kStates[static_cast<int>(state)].terminal; }

std::vector<BlobId> JobResult::Blobs() const {
  std::vector<BlobId> blobs = {model, report_json, report_html};
  if (external_data.has_value()) blobs.push_back(*external_data);
  if (journal.has_value()) blobs.push_back(*journal);
  return blobs;
}

bool HasReusableEnd(const Job& job) {
  if (job.state == JobState::kFailed) {
    return job.error.code() == absl::StatusCode::kInvalidArgument ||
           job.error.code() == absl::StatusCode::kUnimplemented;
  }
  return job.state == JobState::kSucceeded && job.result.has_value() &&
         !job.result->device_failed && !job.result->stopped_early && !job.result->is_lost;
}

std::vector<BlobId> BlobsOf(const Job& job) {
  std::vector<BlobId> blobs = job.spec.Blobs();
  if (!job.result.has_value()) return blobs;
  const std::vector<BlobId> made = job.result->Blobs();
  blobs.insert(blobs.end(), made.begin(), made.end());
  return blobs;
}

int64_t QueueRank(const Job& job) {
  return job.create_ms - JobPolicy::kMsPerLevel * job.policy.priority;
}

}  // namespace quotient::jobs
