#pragma once

// Optimizes, profiles and inspects models in this process, without a server.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/output.h"
#include "client/cli/settings.h"
#include "client/cpp/interrupt.h"
#include "client/cpp/model_files.h"
#include "core/base/progress.h"
#include "core/os/environment.h"
#include "core/report/profile.h"
#include "core/timing/rule_store.h"
#include "core/timing/store.h"

namespace quotient::cli {

// Optimizes a model; blocks. Keeps kernel timings, statistics of rules and code compiled for GPUs
// in the user's cache folder.
absl::StatusOr<std::unique_ptr<ResultSource>> OptimizeLocally(const client::LocalModel& model,
                                                              const Settings& settings,
                                                              client::Interrupt* interrupt,
                                                              ProgressSink* progress);

// Returns "$XDG_CACHE_HOME/quotient" or, if that is not set, "~/.cache/quotient"; empty if there
// is no home folder either.
std::string CacheFolder(const os::Environment& environment);

// Opens the timings in the cache folder. Errors: NOT_FOUND if the user has no home folder,
// STORAGE_DOWN.
absl::StatusOr<std::unique_ptr<timing::TimingStore>> OpenKeptTimings(
    const os::Environment& environment);

// The statistics of rules in the cache folder. NOT_FOUND if the user has no home folder.
absl::StatusOr<timing::RuleStore> KeptStatistics(const os::Environment& environment);

// Predicts and runs a model; blocks. Uses and keeps what OptimizeLocally does.
absl::StatusOr<report::Profile> ProfileLocally(const client::LocalModel& model,
                                               const Settings& settings,
                                               client::Interrupt* interrupt);

absl::StatusOr<std::string> InspectLocally(const client::LocalModel& model);

}  // namespace quotient::cli
