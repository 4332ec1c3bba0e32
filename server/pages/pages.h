#pragma once

// The pages of the server for people, read-only:
//
//   GET /                  its status: queue, running jobs, gains, devices, recent jobs
//   GET /jobs              a list of jobs; ?state=failed of one state, ?before=N older ones
//   GET /jobs/ID           a job, with live progress while it runs
//   GET /jobs/ID/report    the report of its result, as `quotient optimize --html` writes it
//
// What a request costs is bounded: it reads a few dozen jobs and some megabytes of reports at most,
// a few are made and sent at once, and the status is made at most once a second for all who look.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/job_store.h"
#include "server/jobs/watch_hub.h"
#include "server/ops/gpu_monitor.h"
#include "server/ops/job_counts.h"
#include "server/ops/pages.h"
#include "server/ops/queue_age.h"
#include "server/ops/readiness.h"
#include "server/pages/gain_reader.h"
#include "server/pages/status_page.h"

namespace quotient::pages {

// What the pages show. All is borrowed.
struct Sources {
  jobs::JobStore* jobs;
  jobs::BlobStore* blobs;
  const jobs::BlobInventory* inventory;
  const jobs::WatchHub* hub;
  const ops::JobCounts* counts;
  const ops::QueueAge* age;
  const ops::Readiness* readiness;
  const ops::GpuMonitor* gpus;
  const Clock* clock;
};

struct Settings {
  std::string version;
  int workers = 1;
  // Whether they are for this machine alone. Then a page of the Web that gives its own name the
  // address of this machine is refused, by the name that the browser asks for.
  bool is_local = true;
};

// Thread-safe.
class ServerPages : public ops::Pages {
 public:
  static constexpr int kJobsPerPage = 25;
  static constexpr int kMostTransitions = 50;
  static constexpr int kMostAtOnce = 4;
  static constexpr int64_t kMostReportBytes = 16 << 20;  // Of one that is sent.

  ServerPages(Settings settings, const Sources& sources)
      : settings_(std::move(settings)),
        sources_(sources),
        start_ms_(sources.clock->UnixMs()),
        gains_(sources.blobs) {}

  // 503 if too many pages are made or sent already, or the store does not answer. Must not be
  // called any more, and all pages must be gone, when this is destroyed.
  ops::Page Answer(const ops::PageRequest& request) override;

 private:
  // Returns what to hold while a page is made and sent; null if there are too many.
  std::shared_ptr<void> TakeSlot() ABSL_LOCKS_EXCLUDED(slots_mutex_);
  ops::Page Route(const ops::PageRequest& request);
  ops::Page Status() ABSL_LOCKS_EXCLUDED(status_mutex_);
  ops::Page List(absl::string_view query);
  ops::Page Job(absl::string_view id);
  ops::Page Report(absl::string_view id);

  absl::StatusOr<StatusFacts> ReadStatus();
  // Reads up to `limit` jobs with their progress and gains, and whether there are more.
  absl::Status ReadJobs(const jobs::ListQuery& query, std::vector<JobFacts>* jobs, bool* has_more);
  // NOT_FOUND if there is no such job.
  absl::StatusOr<JobFacts> ReadJob(absl::string_view id);

  const Settings settings_;
  const Sources sources_;
  const int64_t start_ms_;
  GainReader gains_;

  absl::Mutex slots_mutex_;
  int slots_taken_ ABSL_GUARDED_BY(slots_mutex_) = 0;

  // Held while the status is made, so that others wait for it and use it.
  absl::Mutex status_mutex_;
  std::string status_ ABSL_GUARDED_BY(status_mutex_);
  int64_t status_ns_ ABSL_GUARDED_BY(status_mutex_) = 0;
};

// Whether a page may be asked for by this name of a host, with or without a port: an address, or
// that of this machine.
bool IsLocalHost(absl::string_view host);

}  // namespace quotient::pages
