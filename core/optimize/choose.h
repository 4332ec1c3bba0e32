#pragma once

// Choose: takes candidates from a grown e-graph. Where kernels are measured, it extracts the best
// graph, measures its kernels, and repeats that until all of them are known. candidates.h lists the
// graphs that are candidates then.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/extract/extract.h"
#include "core/optimize/candidate.h"
#include "core/optimize/grown_egraph.h"

namespace quotient::optimize {

struct ChoiceSettings {
  const Clock& clock;    // Borrowed.
  int64_t start_ns = 0;  // When the search began, as if it had never been interrupted.
  // SearchTime::seconds, from then on. Without, time bounds nothing but the exact extraction.
  std::optional<double> seconds = 0;
  int alternatives = 0;  // SearchSettings::alternatives.
  // Called after each extraction that leads to measurements.
  std::function<void()> report_progress;
};

struct Choices {
  std::vector<Candidate> found;                // As in Candidates.
  std::vector<extract::Selection> selections;  // The selection that each of them was made of.
  // Number of kernels that were measured for the search and for these choices.
  int64_t kernels_measured = 0;
  // Without ChoiceSettings::seconds: whether the first may not be the best graph, because the exact
  // extractor was stopped.
  bool was_cut_short = false;
};

// `costs` prices the e-graph's kernels. Blocks while they are measured. If `stop` fires, ends soon
// with what is known, and in any case makes the last choices.
absl::StatusOr<Choices> ChooseCandidates(GrownEGraph& grown, cost::CostModel& costs,
                                         const ChoiceSettings& settings, const StopCondition& stop);

}  // namespace quotient::optimize
