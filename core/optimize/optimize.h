#pragma once

// The whole of Quotient's core in one call: ONNX bytes in, a checked and faster ONNX out.
//
//   ModelFiles files{.model = bytes};
//   auto result = Optimize(files, options, environment, stop, &progress);
//
// Blocking; may be called from several threads at once (measuring is serialised inside).

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
#include "core/report/report.h"

namespace quotient::optimize {

// A model as it arrives: the ONNX file and the files its external data names, by the exact location
// string used in the model. The file system is never consulted. Bytes are borrowed and must live as
// long as the call.
struct ModelFiles {
  std::string name;  // for people: the file's name
  absl::string_view model;
  std::map<std::string, absl::string_view> external_data;
};

// A model as it leaves: external data, if any, in one file that the model calls
// `external_location`.
struct OptimizedModel {
  std::string model;
  std::string external_location;  // empty: all weights inside
  std::string external_data;
};

struct Result {
  OptimizedModel files;  // for no_improvement: the input's bytes, byte for byte
  report::Report report;
};

class Devices;

// What outlives one optimization.
struct Environment {
  // The devices of this process and what is known of their kernels, shared by all jobs
  // (devices.h). Borrowed; never null.
  Devices* devices = nullptr;
  // Budgets and phases are timed by it, and so must be the deadline of the StopCondition. Kernels
  // and graphs are not (core/timing). Borrowed.
  const Clock& clock;
  // The bytes of the snapshot that Options::device names, if it names one. Borrowed.
  absl::string_view device_snapshot;
  // The name the result's external data gets, e.g. "OUT.onnx.data".
  std::string external_location = "model.onnx.data";
  // Where the search leaves what it can go on from, and finds what an interrupted run of the same
  // model and options left. Borrowed; null: nowhere.
  CheckpointSlot* checkpoint = nullptr;
};

// Errors: those of options (OPTION_INVALID), of reading what is malformed, hostile or too large
// (MODEL_MALFORMED, MODEL_CYCLIC, LIMIT_..., EXTERNAL_DATA_...), CANCELLED when the token was set;
// RUN_BUDGET when the deadline of `stop` passed before any result was valid. A search that finds
// nothing is a result, not an error, and so is a model that is not understood:
// Report::passed_through.
absl::StatusOr<Result> Optimize(const ModelFiles& files, const Options& options,
                                const Environment& environment, const StopCondition& stop,
                                ProgressSink* progress);

// What the engine is: goes into keys and reports. Changes whenever results may.
absl::string_view EngineVersion();

// A short description of a model: nodes by operator, inputs, outputs, opset, opaque operators, what
// ONNX's checker would object to. Canonical JSON. Errors as for reading.
absl::StatusOr<std::string> Inspect(const ModelFiles& files);

}  // namespace quotient::optimize
