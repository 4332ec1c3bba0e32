#pragma once

// Job: what every stage of one optimization reads.

#include <span>

#include "absl/status/status.h"
#include "core/base/reason.h"
#include "core/base/stop.h"
#include "core/optimize/budget.h"
#include "core/optimize/optimize.h"
#include "core/optimize/options.h"
#include "core/rules/rule_set.h"

namespace quotient::optimize {

// Everything but the last is borrowed.
struct Job {
  std::span<const rules::Family> families;  // The rules that may be applied.
  const ModelFiles& files;
  const Options& options;  // Valid, and Options::device names one device (never "auto").
  const Environment& environment;
  const StopCondition& stop;
  Budget& budget;
  int threads = 1;
};

// What a stage returns when the job's token is set.
inline absl::Status Cancelled() { return MakeError(Reason::kCancelled, "the job was cancelled"); }

}  // namespace quotient::optimize
