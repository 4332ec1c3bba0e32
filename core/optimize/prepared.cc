#include "core/optimize/prepared.h"

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/eval/fold.h"
#include "core/ops/infer_graph.h"

namespace quotient::optimize {
namespace {

// What is run may hold anything that is constant: it is never written. The limit only keeps a
// hostile Tile or Expand from taking all memory.
constexpr int64_t kMostFoldedBytes = int64_t{1} << 28;

// From a model whose graph has its types: binds for measuring, folds what is constant then, cuts.
absl::Status BindAndCut(int threads, const StopCondition& stop, Prepared* prepared) {
  QUOTIENT_ASSIGN_OR_RETURN(prepared->measured,
                            ops::BindShapes(prepared->graph, prepared->shapes.shapes));
  model::Graph folded = prepared->measured;
  const eval::FoldLimits limits{.max_result_bytes = kMostFoldedBytes, .threads = threads};
  QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(folded, limits, stop));
  QUOTIENT_ASSIGN_OR_RETURN(prepared->cut, verify::Cut(folded));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Prepared> Prepare(const ModelFiles& files, const Options& options, int threads,
                                 const StopCondition& stop) {
  Prepared prepared;
  QUOTIENT_ASSIGN_OR_RETURN(prepared.model,
                            onnx::Read(files.model, files.external_data, onnx::Limits(), nullptr,
                                       {.freeze_initializers = options.freeze_initializers}));
  prepared.graph = prepared.model.graph;
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(prepared.graph));
  if (!options.shapes.empty()) {
    QUOTIENT_ASSIGN_OR_RETURN(prepared.graph, ops::BindShapes(prepared.graph, options.shapes));
  }
  QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(prepared.graph, {.threads = threads}, stop));
  QUOTIENT_ASSIGN_OR_RETURN(prepared.shapes,
                            ChooseMeasureShapes(prepared.graph, options.measure_shapes));
  const absl::Status bound = BindAndCut(threads, stop, &prepared);
  if (!bound.ok() && prepared.shapes.guessed) {
    return MakeError(
        Reason::kShapeMissing,
        absl::StrCat("the model has dimensions without a number, and with those assumed "
                     "for measuring it makes no sense (",
                     bound.message(), "); bind them with --measure-shape NAME=DIMS"));
  }
  QUOTIENT_RETURN_IF_ERROR(bound);
  return prepared;
}

absl::StatusOr<Prepared> PrepareResult(std::shared_ptr<const OptimizedModel> result,
                                       const MeasureShapes& shapes, int threads,
                                       const StopCondition& stop) {
  std::map<std::string, absl::string_view> external;
  if (!result->external_location.empty()) {
    external[result->external_location] = result->external_data;
  }
  Prepared prepared;
  QUOTIENT_ASSIGN_OR_RETURN(prepared.model,
                            onnx::Read(result->model, external, onnx::Limits(), result));
  prepared.graph = prepared.model.graph;
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(prepared.graph));
  prepared.shapes = shapes;
  QUOTIENT_RETURN_IF_ERROR(BindAndCut(threads, stop, &prepared));
  return prepared;
}

model::Graph AsRead(const Prepared& prepared,
                    const std::map<std::string, std::vector<int64_t>>& shapes) {
  model::Graph graph = prepared.model.graph;
  if (shapes.empty()) return graph;
  // A symbol that one input binds is bound in all.
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    graph.value(graph.inputs[i]).type = prepared.graph.value(prepared.graph.inputs[i]).type;
  }
  return graph;
}

int64_t NodeCount(const onnx::Model& model) {
  int64_t count = 0;
  for (const auto& [op, times] : model.op_counts) count += times;
  return count;
}

}  // namespace quotient::optimize
