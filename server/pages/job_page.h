#pragma once

// The page of a job: its state, progress, result or error, and history. A function of facts.

#include <cstdint>
#include <string>
#include <vector>

#include "server/jobs/job.h"
#include "server/pages/job_facts.h"

namespace quotient::pages {

// `history` has the latest transitions, oldest first. Expects the other pages at relative
// addresses, as from "jobs/ID".
std::string JobPage(const JobFacts& job, const std::vector<jobs::Transition>& history,
                    int64_t now_ms);

}  // namespace quotient::pages
