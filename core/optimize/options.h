#pragma once

// What a user can ask of one optimization. A plain value: defaults beside the fields, canonical
// text for cache keys, validation with messages that name the option. What else there is to say of
// a field (names, range, help) is its row in job_options.cc.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "core/eval/fold.h"

namespace quotient::optimize {

struct Options {
  // The device whose costs are used, by a name that the table of devices accepts (device_table.h):
  // "auto" is ONNX Runtime ("onnxruntime") where its library is found, and "cpu" elsewhere. What it
  // stands for is decided when a job is accepted (Devices::Identify). "cpu" and GPUs ("cuda",
  // "cuda:1-strict32") are measured on this machine; "model:h200" is an analytic model, so nothing
  // is measured and the report says so. "snapshot:<sha256>/<size>" was measured earlier, on a
  // device that need not be here (SnapshotDevice), and kernels that were not measured are
  // estimated.
  std::string device = "auto";

  // The search that grows the e-graph: a name of core/search.
  std::string strategy = "mcts";

  // Bounds all phases of the job together, in seconds. A model that runs in milliseconds takes less
  // where it is run. What has been begun is brought to an end, and a result is checked however long
  // that takes (core/optimize/budget.h).
  double budget_seconds = 30;

  // Bounds the search alone, in seconds. At most the budget. 0 means the share that the search has
  // of the budget (Budget::ForSearch).
  double search_budget_seconds = 0;

  // The e-graph stops growing at this many e-nodes. It may have more: the model's own e-nodes are
  // added even if they exceed the limit, and so are all e-nodes of the match that reaches it.
  int64_t max_nodes = 50'000;

  // Also bounds the search: it ends with the batch of simulations that reaches this number. 0 means
  // that there is no such bound. Unlike a bound in seconds it does not depend on the machine: where
  // nothing is measured, a search that ends by it gives the same result each time. It has no effect
  // on `saturate`, which does not simulate.
  int64_t max_simulations = 0;

  // Number of threads for kernels, searching, checking and measuring. 0 means one per core, at most
  // 16. The kernels of a snapshot have the number that they were recorded with.
  int threads = 0;

  // Seeds everything that is random: the inputs of the check, and choices of the search.
  uint64_t seed = 0;

  // No rewrite may need a newer opset than this, or than the model's own if that is newer. 0 means
  // the model's own or 20, whichever is higher.
  int max_opset = 0;

  // Binds dimensions of inputs for good: input name -> dims. The result has these shapes.
  std::map<std::string, std::vector<int64_t>> shapes;

  // Binds dimensions for measuring and checking only; the result keeps its symbols.
  std::map<std::string, std::vector<int64_t>> measure_shapes;

  // Initializers that are also inputs are defaults, which a caller may override, so they are not
  // constants. This option makes them constants and removes these inputs from the result, because a
  // value given for one would have no effect. Before IR version 4 they are constants in any case.
  bool freeze_initializers = false;

  // Names of values that the result must still have: it computes them under these names, as it
  // does its outputs, and they are checked like these.
  std::vector<std::string> kept_values;

  // Constants that are computed beforehand have at most this many bytes each, or as many as the
  // constants that they are computed from, so that the model does not grow. Shapes are always
  // computed as far as they are known.
  int64_t max_folded_bytes = eval::FoldLimits().max_result_bytes;

  // Names of rules not to use.
  std::vector<std::string> disabled_rules;

  // Assumes that no float input holds a NaN, an infinity or a number beyond
  // domain::kLargestAssumedInput (1e6). Guards against NaN that can then never act may be removed.
  // Without this option nothing is assumed of inputs.
  bool assume_finite_inputs = false;

  // Questions RULE@NODE (question.h): why is what this rule makes there not in the result? The
  // report answers them. All together take a tenth of the budget or 2 s, and change nothing else.
  std::vector<std::string> why_not;

  // Number of sets of random inputs on which the result is compared at the dims of measuring. Sets
  // of moderate and of wide values take turns (core/verify). At other dims further sets are used.
  int verify_inputs = 2;

  friend bool operator==(const Options&, const Options&) = default;

  // OPTION_INVALID naming the first option that is out of range or unknown.
  absl::Status Validate() const;

  // `threads`, or what 0 stands for on this machine.
  int ThreadsToUse() const;

  // How constants are computed beforehand.
  eval::FoldLimits Folding(int with_threads) const {
    return {.max_result_bytes = max_folded_bytes, .threads = with_threads};
  }

  // All fields in a fixed order and form, so that equal options have equal texts. Part of the job's
  // key.
  std::string CanonicalText() const;
};

// What Options::device is called for a snapshot with these bytes (core/timing/snapshot.h).
std::string SnapshotDevice(absl::string_view bytes);
// The snapshot that a device of that name is known from. Nothing for any other name.
std::optional<BlobId> SnapshotOf(absl::string_view device);

// Reads "name=1,3,224,224" into a name and dims ("name=" is a scalar). OPTION_INVALID for any other
// text, and for a name that has a shape already.
absl::Status ParseShapeOption(absl::string_view text,
                              std::map<std::string, std::vector<int64_t>>* shapes);

// Reads "30s", "2m", "1500ms" or "12" (seconds). OPTION_INVALID for any other text.
absl::Status ParseDuration(absl::string_view text, double* seconds);

}  // namespace quotient::optimize
