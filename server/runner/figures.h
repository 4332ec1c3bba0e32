#pragma once

// What a run has done, as the process of a job tells it to the server for its metrics.

#include "core/report/report.h"
#include "server/runner/counted_timings.h"
#include "server/runner/runner.pb.h"

namespace quotient::runner {

// Those of the search and of its result.
void AddReport(const report::Report& report, v1::Figures* figures);
// Those of measuring.
void AddTimings(const TimingCounts& counts, double lane_wait_seconds, v1::Figures* figures);

}  // namespace quotient::runner
