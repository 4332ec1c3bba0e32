#pragma once

// The journal of a result: how its files follow from the model (core/journal).

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/journal/journal.h"
#include "core/optimize/baseline.h"
#include "core/optimize/job.h"
#include "core/optimize/optimize.h"
#include "core/optimize/package.h"
#include "core/report/report.h"

namespace quotient::optimize {

// How a candidate of a search follows from the model. `files` are those of its delivery. Fails as
// journal::Derive does, and with LIMIT_BYTES if memory runs out.
absl::StatusOr<journal::Journal::Derivation> DerivationOf(const Job& job, const Baseline& baseline,
                                                          const Packaged& candidate,
                                                          const OptimizedModel& files);

// The text of the journal. No derivation: the model came back as it was.
std::string JournalText(const ModelFiles& files,
                        std::optional<journal::Journal::Derivation> derivation,
                        const report::Report& report);

}  // namespace quotient::optimize
