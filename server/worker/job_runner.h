#pragma once

// JobRunner runs the jobs that a worker has claimed. Implemented by server/runner, by decorators,
// and by fakes in tests.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "core/base/progress.h"
#include "core/base/stop.h"
#include "core/optimize/validate.h"
#include "server/jobs/job.h"

namespace quotient::worker {

// Where a job's checkpoint is kept. For one thread at a time.
class KeptCheckpoint {
 public:
  virtual ~KeptCheckpoint() = default;
  // The last checkpoint, which may be damaged; empty if there is none.
  virtual std::string Load() = 0;
  // Replaces it. If that fails, the previous one stays, and the job goes on.
  virtual void Save(absl::string_view bytes) = 0;
};

// Whether a result of a job is the same as its model.
struct Verification {
  bool is_same = false;
  std::string comparison_json;  // report::ToJson(Comparison)
};

// What came of replaying the journal of a job's result.
struct Replay {
  BlobId model;            // The model that was made.
  bool is_result = false;  // Whether it is that of the result, to the last byte.
  int64_t rewrites = 0;
  std::vector<std::string> conditions;  // As optimize::Replayed has them.
};

// Thread-safe.
class JobRunner {
 public:
  using IsWanted = absl::FunctionRef<bool()>;

  virtual ~JobRunner() = default;

  // Optimizes the job's model and blocks until that is done. Returns CANCELLED soon after `token`
  // is cancelled, and the best result so far soon after it is told to finish. Goes on from the
  // checkpoint if there is one, and saves new ones. If `checkpoint` is null, none are used or made.
  virtual absl::StatusOr<jobs::JobResult> Run(const jobs::Job& job, const CancelToken& token,
                                              ProgressSink* progress,
                                              KeptCheckpoint* checkpoint) = 0;

  // Describes a model as JSON, without optimizing it. `name` is what the description calls it.
  // Returns CANCELLED soon after `is_wanted`, which is called now and then, returns false.
  virtual absl::StatusOr<std::string> Inspect(const jobs::Manifest& model, const std::string& name,
                                              IsWanted is_wanted) = 0;

  // Reads a model as a job with these options does, and says what it would make of it. Fails as the
  // job would.
  virtual absl::StatusOr<optimize::Validation> Validate(const jobs::JobSpec& spec,
                                                        IsWanted is_wanted) = 0;

  // Compares the result of a job, which has one, with its model. Of the job's options, the seed and
  // the number of sets of inputs say how.
  virtual absl::StatusOr<Verification> Verify(const jobs::Job& job, IsWanted is_wanted) = 0;

  // Replays the journal of the result of a job, which has one. Fails as optimize::ReplayJournal
  // does.
  virtual absl::StatusOr<worker::Replay> Replay(const jobs::Job& job, IsWanted is_wanted) = 0;
};

}  // namespace quotient::worker
