#include "core/optimize/compare_models.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/counted.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/interfaces.h"
#include "core/optimize/prepared.h"
#include "core/verify/bindings.h"
#include "core/verify/checker.h"

namespace quotient::optimize {
namespace {

class Comparer {
 public:
  Comparer(const ModelFiles& first, const ModelFiles& second, const Options& options,
           const StopCondition& stop)
      : first_(first),
        second_(second),
        options_(options),
        threads_(options.ThreadsToUse()),
        stop_(stop) {}

  absl::StatusOr<report::Comparison> Run() {
    result_.first = first_.name;
    result_.second = second_.name;
    absl::StatusOr<Prepared> original = Prepare(first_, options_, threads_, stop_);
    if (!original.ok()) return Named(first_, original.status());
    const absl::StatusOr<onnx::Model> other = ReadResult(BytesOf(second_));
    if (!other.ok()) return Named(second_, other.status());
    result_.interface = InterfaceDifferences(AsRead(*original, options_.shapes), other->graph);
    if (result_.interface.empty()) QUOTIENT_RETURN_IF_ERROR(CompareValues(*original));
    return std::move(result_);
  }

 private:
  static ModelBytes BytesOf(const ModelFiles& files) {
    return {files.model, files.external_data, nullptr};
  }

  absl::Status Named(const ModelFiles& files, const absl::Status& status) const {
    if (stop_.ShouldStop()) return status;
    const std::optional<Reason> reason = GetReason(status);
    return MakeError(reason.value_or(Reason::kModelUnsupported),
                     absl::StrCat(files.name, ": ", status.message()));
  }

  absl::Status CompareValues(const Prepared& original) {
    const model::Graph as_read = AsRead(original, options_.shapes);
    absl::StatusOr<verify::Checker> checker = verify::Checker::Create(
        {&as_read, &original.cut}, original.shapes.shapes,
        {options_.verify_inputs, options_.seed, threads_, options_.assume_finite_inputs}, stop_);
    if (!checker.ok()) return Named(first_, checker.status());
    const absl::StatusOr<Prepared> other =
        PrepareResult(BytesOf(second_), original.shapes, threads_, stop_);
    if (!other.ok()) {
      if (stop_.ShouldStop()) return other.status();
      result_.failure =
          absl::StrCat("it does not take the sizes ", verify::ToString(original.shapes.shapes),
                       ": ", other.status().message());
      return absl::OkStatus();
    }
    const verify::Checked checked = {&other->model.graph, &other->cut};
    QUOTIENT_ASSIGN_OR_RETURN(const verify::Verdict verdict, checker->Check(checked, stop_));
    Describe(*checker, original, verdict);
    return verdict.passed ? absl::OkStatus() : Locate(*checker, checked, verdict);
  }

  void Describe(const verify::Checker& checker, const Prepared& original,
                const verify::Verdict& verdict) {
    result_.is_same = verdict.passed;
    result_.failure = verdict.failure;
    result_.output = verdict.output;
    result_.input_sets = verdict.inputs;
    result_.max_relative_error = verdict.max_relative_error;
    result_.tolerance = verdict.tolerance;
    result_.sizes.push_back({.shapes = verify::ToString(original.shapes.shapes),
                             .nodes = static_cast<int>(original.cut.graph.nodes.size()),
                             .nodes_left_out = original.cut.cut_nodes});
    for (const verify::CheckedBinding& binding : checker.bindings()) {
      result_.sizes.push_back({.shapes = verify::ToString(binding.shapes),
                               .kind = std::string(verify::ToString(binding.kind)),
                               .nodes = binding.nodes,
                               .nodes_left_out = binding.cut});
    }
    if (!checker.note().empty()) result_.notes.push_back(checker.note());
    if (original.cut.cut_nodes > 0) {
      result_.notes.push_back(absl::StrCat(Counted(original.cut.cut_nodes, "node"),
                                           " of the first model cannot be evaluated here, so that "
                                           "only what they read was compared"));
    }
    for (const std::string& output : verdict.never_finite) {
      result_.notes.push_back(absl::StrCat(output,
                                           " was never finite, so that of its elements only "
                                           "the places of NaN and infinities were compared"));
    }
  }

  absl::Status Locate(verify::Checker& checker, const verify::Checked& checked,
                      const verify::Verdict& verdict) {
    const auto first = checker.Locate(checked, verdict, stop_);
    if (!first.ok()) return stop_.ShouldStop() ? first.status() : absl::OkStatus();
    if (!first->has_value()) return absl::OkStatus();
    const verify::FirstDifference& parted = **first;
    result_.parted = {.name = parted.value,
                      .op = parted.op,
                      .element = parted.element,
                      .first = parted.original,
                      .second = parted.other,
                      .agreeing = parted.agreeing};
    return absl::OkStatus();
  }

  const ModelFiles& first_;
  const ModelFiles& second_;
  const Options& options_;
  const int threads_;
  const StopCondition& stop_;
  report::Comparison result_;
};

}  // namespace

absl::StatusOr<report::Comparison> CompareModels(const ModelFiles& first, const ModelFiles& second,
                                                 const Options& options,
                                                 const StopCondition& stop) {
  QUOTIENT_RETURN_IF_ERROR(options.Validate());
  return Comparer(first, second, options, stop).Run();
}

}  // namespace quotient::optimize
