#include "core/optimize/prepared.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/eval/fold.h"
#include "core/ops/infer_graph.h"
#include "core/optimize/candidates.h"
#include "core/optimize/footprint.h"
#include "core/optimize/memory.h"
#include "core/verify/bindings.h"

namespace quotient::optimize {
namespace {

// Makes every named dim of an input unknown. Inference gives each unknown dim a symbol of its own.
void ForgetNames(model::Graph& graph) {
  for (const model::ValueId input : graph.inputs) {
    model::TensorType& type = graph.value(input).type;
    if (!type.has_rank()) continue;
    for (model::Dim& dim : *type.shape) {
      if (dim.is_symbol()) dim = model::Dim();
    }
  }
}

// Makes constants of inputs that have defaults.
void FreezeInputs(std::span<const std::string> names, model::Graph& graph) {
  for (size_t i = graph.inputs.size(); i-- > 0;) {
    model::Value& value = graph.value(graph.inputs[i]);
    const bool is_unused = std::ranges::find(names, value.name) != names.end();
    if (!is_unused || !graph.defaults[i].has_value()) continue;
    value.type = graph.defaults[i]->type();
    value.constant = std::move(graph.defaults[i]);
    graph.inputs.erase(graph.inputs.begin() + static_cast<std::ptrdiff_t>(i));
    graph.defaults.erase(graph.defaults.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void NarrowInputs(const std::map<std::string, model::TensorType>& types, model::Graph& graph) {
  for (const model::ValueId id : graph.inputs) {
    const auto found = types.find(graph.value(id).name);
    if (found != types.end()) graph.value(id).type = found->second;
  }
}

// Reads the model and infers its types. If the types of a node contradict each other, the node
// becomes opaque and types are inferred again, because runtimes are less strict. That is done for
// the first few such nodes.
absl::Status ReadAndInfer(const ModelBytes& bytes, onnx::ReadOptions options, InputNames names,
                          const ResultOptions& narrowed, Prepared* prepared) {
  constexpr size_t kMaxContradictions = 8;
  for (;;) {
    QUOTIENT_ASSIGN_OR_RETURN(prepared->model, onnx::Read(bytes.model, bytes.external_data,
                                                          onnx::Limits(), bytes.owner, options));
    FreezeInputs(narrowed.unused_inputs, prepared->model.graph);
    NarrowInputs(narrowed.input_types, prepared->model.graph);
    prepared->graph = prepared->model.graph;
    if (names == InputNames::kForgotten) ForgetNames(prepared->graph);
    model::NodeId senseless;
    const absl::Status status = ops::InferTypes(prepared->graph, &senseless);
    if (status.ok() || !senseless.valid()) return status;
    const std::vector<model::ValueId>& outputs = prepared->graph.node(senseless).outputs;
    if (outputs.empty() || !outputs[0].valid()) return status;
    if (options.opaque_nodes.size() == kMaxContradictions) return status;
    const std::string& name = prepared->graph.value(outputs[0]).name;
    const auto source = prepared->model.inner_values.find(name);
    const bool is_inner = source != prepared->model.inner_values.end();
    const absl::string_view why = absl::StripPrefix(
        status.message(), absl::StrCat(ops::NameOf(prepared->graph, senseless), ": "));
    const auto [node, is_new] =
        options.opaque_nodes.emplace(is_inner ? source->second : name, std::string(why));
    if (!is_new) return status;
  }
}

onnx::ReadOptions AsReadOptions(const ResultOptions& options) {
  return {.freeze_initializers = options.freeze_initializers, .kept_values = options.kept_values};
}

// Binds the symbols of prepared->graph, whose types must be inferred, for measuring; folds what is
// constant then, and cuts.
absl::Status BindAndCut(const ops::InputShapes& shapes, int threads, const StopCondition& stop,
                        Prepared* prepared) {
  QUOTIENT_ASSIGN_OR_RETURN(prepared->measured, ops::BindShapes(prepared->graph, shapes));
  absl::StatusOr<verify::CutGraph> cut = verify::FoldAndCut(prepared->measured, threads, stop);
  if (GetReason(cut.status()) == Reason::kModelShape) {
    // A declared number was used where inference has none, and folding contradicts it. The
    // declaration is stale.
    prepared->measured = prepared->graph;
    QUOTIENT_RETURN_IF_ERROR(ops::SetShapes(shapes, prepared->measured));
    cut = verify::FoldAndCut(prepared->measured, threads, stop);
  }
  QUOTIENT_ASSIGN_OR_RETURN(prepared->cut, std::move(cut));
  return absl::OkStatus();
}

// As ops::SetShapes, but if the model makes no sense with the shapes, the option is to blame.
absl::Status BindForGood(const ops::InputShapes& shapes, model::Graph& graph) {
  const absl::Status status = ops::SetShapes(shapes, graph);
  if (GetReason(status) != Reason::kModelShape) return status;
  return MakeError(
      Reason::kOptionInvalid,
      absl::StrCat("shape: with these shapes the model makes no sense (", status.message(), ")"));
}

// The steps of Prepare. After an error, `*prepared` holds what was known by then.
absl::Status PrepareInto(const ModelFiles& files, const Options& options, int threads,
                         const StopCondition& stop, const PrepareSettings& settings,
                         Prepared* prepared) {
  QUOTIENT_RETURN_IF_ERROR(ReadAndInfer(
      {files.model, files.external_data, nullptr},
      {.freeze_initializers = options.freeze_initializers, .kept_values = options.kept_values},
      settings.names, /*narrowed=*/{}, prepared));
  prepared->stale_declarations = ops::StaleDeclarations(prepared->graph);
  if (!options.shapes.empty()) {
    QUOTIENT_RETURN_IF_ERROR(BindForGood(options.shapes, prepared->graph));
  }
  QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(prepared->graph, options.Folding(threads), stop));
  int too_large = 0;
  int alternatives = 0;
  const auto bind = [&](const ops::InputShapes& shapes) -> absl::StatusOr<double> {
    QUOTIENT_RETURN_IF_ERROR(BindAndCut(shapes, threads, stop, prepared));
    return verify::OperationsOf(prepared->cut);
  };
  const auto bind_and_fit = [&](const ops::InputShapes& shapes) -> absl::StatusOr<double> {
    QUOTIENT_ASSIGN_OR_RETURN(const double operations, bind(shapes));
    // The device is not known here: this is what the one takes that takes most.
    const absl::Status fits =
        CheckFits(prepared->cut.graph, LoadOf(files, prepared->cut.graph, RunBy::kExecutables,
                                              options.verify_inputs, MostCandidates(alternatives)));
    // If the weights alone do not fit, smaller sizes do not help.
    constexpr int kMaxTooLarge = 8;
    if (!fits.ok() && ++too_large == kMaxTooLarge) return absl::ResourceExhaustedError("too large");
    QUOTIENT_RETURN_IF_ERROR(fits);
    return operations;
  };
  absl::StatusOr<MeasureShapes> shapes;
  // Rather smaller sizes than no choice between candidates, but rather that than none.
  for (alternatives = 1; alternatives >= 0; --alternatives) {
    too_large = 0;
    shapes = ChooseMeasureShapes(prepared->graph, options.measure_shapes, bind_and_fit, stop,
                                 settings.most_operations);
    if (shapes.ok() || too_large == 0) break;
  }
  if (!shapes.ok() && too_large > 0) {
    // No size is small enough for this machine. Optimize reports that.
    shapes = ChooseMeasureShapes(prepared->graph, options.measure_shapes, bind, stop,
                                 settings.most_operations);
  }
  QUOTIENT_ASSIGN_OR_RETURN(prepared->shapes, std::move(shapes));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Prepared> Prepare(const ModelFiles& files, const Options& options, int threads,
                                 const StopCondition& stop, const PrepareSettings& settings) {
  Prepared prepared;
  QUOTIENT_RETURN_IF_ERROR(PrepareInto(files, options, threads, stop, settings, &prepared));
  return prepared;
}

bool IsHarmless(const absl::Status& status) {
  const Reason reason = GetReason(status).value_or(Reason::kInternal);
  return reason == Reason::kModelShape || reason == Reason::kShapeMissing ||
         reason == Reason::kModelUnsupported || reason == Reason::kOpsetUnknown;
}

std::variant<Prepared, Unprepared> PrepareOrDescribe(const ModelFiles& files,
                                                     const Options& options, int threads,
                                                     const StopCondition& stop,
                                                     const PrepareSettings& settings) {
  Prepared prepared;
  absl::Status status =
      WithinMemory([&] { return PrepareInto(files, options, threads, stop, settings, &prepared); },
                   [] { return MakeError(Reason::kModelUnsupported, "no memory is left"); });
  if (status.ok()) return prepared;
  return Unprepared{std::move(status), std::move(prepared.model),
                    std::move(prepared.stale_declarations)};
}

absl::StatusOr<Prepared> PrepareResult(const ModelBytes& result, const MeasureShapes& shapes,
                                       int threads, const StopCondition& stop,
                                       const ResultOptions& options) {
  Prepared prepared;
  QUOTIENT_RETURN_IF_ERROR(
      ReadAndInfer(result, AsReadOptions(options), InputNames::kEqual, options, &prepared));
  prepared.shapes = shapes;
  QUOTIENT_RETURN_IF_ERROR(BindAndCut(shapes.shapes, threads, stop, &prepared));
  return prepared;
}

absl::StatusOr<onnx::Model> ReadResult(const ModelBytes& result, const ResultOptions& options) {
  Prepared prepared;
  QUOTIENT_RETURN_IF_ERROR(
      ReadAndInfer(result, AsReadOptions(options), InputNames::kEqual, options, &prepared));
  return std::move(prepared.model);
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
