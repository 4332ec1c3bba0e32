#include "core/optimize/package.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/onnx/writer.h"

namespace quotient::optimize {

absl::StatusOr<Packaged> Package(const Prepared& original, Candidate candidate,
                                 const PackageSettings& settings, cost::CostModel& costs,
                                 const StopCondition& stop) {
  const onnx::WriteOptions options{.max_opset = settings.max_opset,
                                   .external_location = settings.external_location,
                                   .bind_types = settings.bind_types};
  QUOTIENT_ASSIGN_OR_RETURN(onnx::WrittenModel written,
                            onnx::Write(original.model, candidate.graph, options));
  Packaged packaged;
  packaged.files = std::make_shared<OptimizedModel>();
  packaged.files->model = std::move(written.bytes);
  if (!written.external_data.empty()) {
    packaged.files->external_location = settings.external_location;
    packaged.files->external_data = std::move(written.external_data);
  }
  QUOTIENT_ASSIGN_OR_RETURN(packaged.prepared,
                            PrepareResult(packaged.files, original.shapes, settings.threads, stop));
  packaged.journal = std::move(candidate.journal);
  QUOTIENT_ASSIGN_OR_RETURN(packaged.cost,
                            cost::PredictGraph(packaged.prepared.cut.graph, costs, stop));
  return packaged;
}

}  // namespace quotient::optimize
