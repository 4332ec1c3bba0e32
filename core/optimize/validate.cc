#include "core/optimize/validate.h"

#include <utility>
#include <variant>

#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/ort_backend.h"
#include "core/optimize/candidates.h"
#include "core/optimize/device_table.h"
#include "core/optimize/footprint.h"
#include "core/optimize/notes.h"
#include "core/optimize/prepared.h"

namespace quotient::optimize {

namespace {

// What runs the graphs of a device that need not be here.
RunBy RunByDevice(absl::string_view name) {
  const DeviceKind* const kind = FindDeviceKind(AllDeviceKinds(), name);
  if (kind == nullptr || kind->is_name_of_others()) return RunBy::kExecutables;
  return kind->run_by();
}

}  // namespace

absl::StatusOr<Validation> ValidateModel(const ModelFiles& files, const Options& options,
                                         const StopCondition& stop) {
  QUOTIENT_RETURN_IF_ERROR(options.Validate());
  std::variant<Prepared, Unprepared> read =
      PrepareOrDescribe(files, options, options.ThreadsToUse(), stop);
  if (Unprepared* const unprepared = std::get_if<Unprepared>(&read)) {
    if (!IsHarmless(unprepared->why)) return unprepared->why;
    return Validation{unprepared->why, std::move(unprepared->stale_declarations)};
  }
  const Prepared& prepared = std::get<Prepared>(read);
  const model::Graph& graph = prepared.cut.graph;
  const absl::Status fits =
      CheckFits(graph, LoadOf(files, graph, RunByDevice(options.device), options.verify_inputs,
                              MostCandidates(/*alternatives=*/0)));
  const bool runs_files = options.device == kernels::onnxruntime::kCpuDevice;
  return Validation{fits, NotesOnReading(prepared, options, runs_files)};
}

}  // namespace quotient::optimize
