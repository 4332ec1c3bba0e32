#include "server/jobs/job.h"

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

absl::string_view JobStateName(JobState state) { return kStates[static_cast<int>(state)].name; }

std::optional<JobState> JobStateFromName(absl::string_view name) {
  for (const StateRow& row : kStates) {
    if (name == row.name) return row.state;
  }
  return std::nullopt;
}

bool IsTerminal(JobState state) { return kStates[static_cast<int>(state)].terminal; }

}  // namespace quotient::jobs
