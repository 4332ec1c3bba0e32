#pragma once

// The page of the server: whether it is ready, its queue, what runs, devices, gains, recent jobs;
// and the page with a list of jobs alone. Functions of facts; nothing is read here.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/jobs/job.h"
#include "server/ops/nvml.h"
#include "server/pages/job_facts.h"

namespace quotient::pages {

struct StatusFacts {
  std::string version;
  int64_t now_ms = 0;    // Unix time.
  int64_t start_ms = 0;  // When the process began.
  std::vector<std::string> obstacles;
  std::map<jobs::JobState, int64_t> counts;  // States without jobs may be left out.
  double oldest_wait_seconds = 0;
  int workers = 0;
  int watchers = 0;
  std::optional<int64_t> disk_free_bytes;
  std::vector<ops::GpuSample> gpus;
  std::vector<JobFacts> running;
  std::vector<JobFacts> recent;  // Newest first.
  bool has_older = false;
};

struct ListFacts {
  int64_t now_ms = 0;
  std::optional<jobs::JobState> state;  // Of all of them, if it was asked for.
  std::vector<JobFacts> jobs;           // Newest first.
  bool has_older = false;
};

// Both pages expect the others at relative addresses, "jobs" and "jobs/ID".
std::string StatusPage(const StatusFacts& facts);
std::string ListPage(const ListFacts& facts);

}  // namespace quotient::pages
