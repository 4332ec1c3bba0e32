#pragma once

// Replay: makes the result of a job from its model and its journal alone: without a device, without
// timings, and without a search.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "core/base/stop.h"
#include "core/journal/journal.h"
#include "core/journal/replay_egraph.h"
#include "core/optimize/optimize.h"
#include "core/rules/rule_set.h"

namespace quotient::optimize {

struct Replayed {
  // The files of the result. If the model came back as it was, its own bytes without those of its
  // external data, which the caller has.
  OptimizedModel files;
  bool is_original = false;  // Whether the model came back as it was.
  BlobId model;              // OptimizedModel::model
  int64_t rewrites = 0;
  // What the result follows under, as text: a sentence each. Empty if it follows from the model
  // alone.
  std::vector<std::string> conditions;
};

// Makes each recorded rewrite, if its rule matches at its place by its own pattern and guards, and
// writes the graph that was chosen, whose files must have the recorded digests. The journal need
// not be trusted. Whoever gets a result thus knows that it follows from the model by these
// rewrites.
//
// Fails with JOURNAL_VERSION if another version of Quotient made the journal, with JOURNAL_INVALID,
// naming the rewrite or what else is wrong, if the journal is damaged, belongs to another model, or
// if the result does not follow by it; with LIMIT_NODES or LIMIT_BYTES, naming the rewrite, if the
// rewrites make more than journals of this length do, or than this machine has memory for; with
// errors of reading the model, with MODEL_UNSUPPORTED if that is too large for this machine, and
// with CANCELLED or RUN_BUDGET when `stop` fires. Blocks. Thread-safe. `threads`: for folding
// constants.
absl::StatusOr<Replayed> ReplayJournal(
    const ModelFiles& files, absl::string_view journal, int threads, const StopCondition& stop,
    std::span<const rules::Family> families = rules::AllFamilies());

// The conditions under which whatever follows after such a preparation does: see Replayed.
std::vector<std::string> ConditionsOf(const journal::Preparation& preparation);

// What rewrites after such a preparation are made with.
journal::ReplaySettings SettingsOf(const journal::Preparation& preparation,
                                   std::span<const rules::Family> families);

}  // namespace quotient::optimize
