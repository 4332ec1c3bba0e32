#pragma once

// The whole of Quotient's core in one call: ONNX bytes in, a checked and faster ONNX out.
//
//   ModelFiles files{.model = bytes};
//   auto result = Optimize(files, options, environment, stop, &progress);
//
// Blocks. Thread-safe: measurements of concurrent calls take turns.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/checkpoint_slot.h"
#include "core/base/clock.h"
#include "core/base/progress.h"
#include "core/base/stop.h"
#include "core/optimize/options.h"
#include "core/os/free_cores.h"
#include "core/report/report.h"
#include "core/timing/rule_store.h"

namespace quotient::optimize {

// A model as it arrives: the ONNX file and the files of its external data by the exact location
// strings that the model has. The file system is never read. The bytes are borrowed and must live
// as long as the call.
struct ModelFiles {
  std::string name;  // The file's name, for people.
  absl::string_view model;
  std::map<std::string, absl::string_view> external_data;
};

// A model as it leaves. If it has external data, that is one file.
struct OptimizedModel {
  std::string model;
  std::string external_location;  // The file's location in the model. Empty without external data.
  std::string external_data;
};

struct Result {
  OptimizedModel files;  // If nothing was improved, these are the bytes of the input.
  report::Report report;
  // How the files follow from the model, for ReplayJournal (replay.h). Empty if no journal could be
  // written; a note in the report then says why.
  std::string journal;
  // The device failed while the job ran, though it recovered (Backend::failures). An equal job may
  // have a better answer.
  bool device_failed = false;
  // CancelToken::Finish was called before the budget was used up. A job that is not told to finish
  // may have a better answer.
  bool finished_early = false;
};

class Devices;

// What optimizations of one process share.
struct Environment {
  // The devices of this process with what is known of their kernels (devices.h). Borrowed, never
  // null.
  Devices* devices = nullptr;
  // Times budgets and phases. The deadline of the StopCondition must be by this clock, too. Kernels
  // and graphs are not timed by it (see core/timing). Borrowed.
  const Clock& clock;
  // The bytes of the snapshot that Options::device names, if it names one. Borrowed.
  absl::string_view device_snapshot;
  // The location of the result's external data, such as "OUT.onnx.data".
  std::string external_location = "model.onnx.data";
  // Where the search leaves its checkpoints and finds that of an interrupted run of the same model
  // and options. Borrowed. Null means that there are none.
  CheckpointSlot* checkpoint = nullptr;
  // Where a job leaves what its rules did. Borrowed. Null means that it is not kept.
  const timing::RuleStore* rule_store = nullptr;
  // Whether Result::journal is wanted. It takes time when all else is done (Budget::ForJournal).
  bool wants_journal = true;
  // Whether so many threads find a core each. Tests decide that themselves.
  std::function<bool(int threads)> has_free_cores = os::HasFreeCores;
};

// Fails with OPTION_INVALID, with the errors of reading a model that is malformed, hostile or too
// large (MODEL_MALFORMED, MODEL_CYCLIC, LIMIT_..., EXTERNAL_DATA_...), with CANCELLED if the token
// was cancelled, and with RUN_BUDGET if the deadline of `stop` passed before there was a valid
// result. It is no error if the search finds nothing, or if the model is not understood
// (Report::passed_through).
// A device that stands for others is resolved first; the report names the one that was used.
absl::StatusOr<Result> Optimize(const ModelFiles& files, const Options& options,
                                const Environment& environment, const StopCondition& stop,
                                ProgressSink* progress);

// The engine's version, which is in keys and reports: that of the release, "+", and a digest of the
// sources of core, so that it changes whenever results may change.
absl::string_view EngineVersion();

// Describes a model as canonical JSON: number of nodes by operator, inputs, outputs, opset, opaque
// operators, and what ONNX's checker objects to. Fails with the errors of reading.
absl::StatusOr<std::string> Inspect(const ModelFiles& files);

}  // namespace quotient::optimize
