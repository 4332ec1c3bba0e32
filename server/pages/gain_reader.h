#pragma once

// Reads from stored reports what jobs have gained, for lists of jobs. A report that was read once
// is not read again, and a list reads no more than some megabytes of new ones.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/blob_store.h"
#include "server/pages/job_facts.h"

namespace quotient::pages {

// What the JSON of a report says; without a text if it is none.
Gain GainOfReport(absl::string_view json);

// Thread-safe.
class GainReader {
 public:
  static constexpr int64_t kMostReportBytes = 4 << 20;  // Larger reports are not read.
  static constexpr int64_t kMostBytesPerList = 8 << 20;
  static constexpr size_t kMostKept = 512;

  // Borrows the store.
  explicit GainReader(jobs::BlobStore* blobs) : blobs_(*blobs) {}

  // Fills in the gains of jobs that have succeeded, as far as they are known or can be read.
  void AddTo(std::vector<JobFacts>* jobs) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Keep(const std::string& id, Gain gain) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  jobs::BlobStore& blobs_;

  // Held while reports are read, so that no two threads read the same ones.
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Gain> gains_ ABSL_GUARDED_BY(mutex_);  // By job id.
  std::deque<std::string> oldest_first_ ABSL_GUARDED_BY(mutex_);          // The same jobs.
};

}  // namespace quotient::pages
