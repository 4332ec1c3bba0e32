#pragma once

// The journal of a result: how its files follow from the model (core/journal).

#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/journal/journal.h"
#include "core/optimize/job.h"
#include "core/optimize/optimize.h"
#include "core/optimize/package.h"
#include "core/optimize/prepared.h"
#include "core/report/report.h"

namespace quotient::optimize {

// How a candidate follows from the model, whose files are those of the delivery. `original` is the
// model as the job prepared it. Fails with INTERNAL if that cannot be told, and with CANCELLED.
absl::StatusOr<journal::Journal::Derivation> DerivationOf(
    const Options& options, std::span<const rules::Family> families, const Prepared& original,
    const Packaged& candidate, const PackageSettings& settings, const OptimizedModel& files,
    const StopCondition& stop);

// The text of the journal. No derivation: the model came back as it was.
std::string JournalText(const ModelFiles& files,
                        std::optional<journal::Journal::Derivation> derivation,
                        const report::Report& report);

}  // namespace quotient::optimize
