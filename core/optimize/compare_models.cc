#include "core/optimize/compare_models.h"

#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/counted.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/footprint.h"
#include "core/optimize/interfaces.h"
#include "core/optimize/memory.h"
#include "core/optimize/prepared.h"
#include "core/optimize/uncomputed.h"
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
        stop_(stop) {
    read_as_.freeze_initializers = options.freeze_initializers;
  }

  absl::StatusOr<report::Comparison> Run() {
    result_.first = first_.name;
    result_.second = second_.name;
    QUOTIENT_ASSIGN_OR_RETURN(const Prepared original, PrepareFirst());
    QUOTIENT_RETURN_IF_ERROR(About(first_, CheckDefaults(original.model)));
    onnx::Model wanted = original.model;
    wanted.graph = AsRead(original, options_.shapes);
    const absl::StatusOr<onnx::Model> offered = ReadResult(Bytes(second_), read_as_);
    if (!offered.ok()) return About(second_, offered.status());
    QUOTIENT_RETURN_IF_ERROR(About(second_, CheckDefaults(*offered)));
    result_.interface = InterfaceDifferences(wanted, *offered);
    if (!result_.interface.empty()) return std::move(result_);
    read_as_.unused_inputs = UnusedInputs(wanted.graph, offered->graph);
    for (const model::ValueId id : wanted.graph.inputs) {
      const model::Value& input = wanted.graph.value(id);
      if (input.type.has_rank()) read_as_.input_types.emplace(input.name, input.type);
    }
    QUOTIENT_RETURN_IF_ERROR(CompareValues(original, wanted.graph));
    return std::move(result_);
  }

 private:
  static ModelBytes Bytes(const ModelFiles& files) {
    return {files.model, files.external_data, nullptr};
  }

  // The error with the file that it is about.
  absl::Status About(const ModelFiles& files, const absl::Status& status) const {
    if (status.ok() || stop_.ShouldStop()) return status;
    return MakeError(GetReason(status).value_or(Reason::kModelUnsupported),
                     absl::StrCat(files.name, ": ", status.message()));
  }

  // The other model may have weights of its own in another form.
  absl::Status CheckSize(const ModelFiles& files, const Prepared& prepared) const {
    return About(files,
                 CheckFits(prepared.cut.graph, LoadOf(files, prepared.cut.graph, RunBy::kNothing,
                                                      options_.verify_inputs, /*candidates=*/1)));
  }

  absl::StatusOr<Prepared> PrepareFirst() const {
    absl::StatusOr<Prepared> original = Prepare(first_, options_, threads_, stop_);
    if (!original.ok()) return About(first_, original.status());
    QUOTIENT_RETURN_IF_ERROR(CheckSize(first_, *original));
    return original;
  }

  // Nullopt if it makes no sense with the sizes of the first, which is a difference.
  absl::StatusOr<std::optional<Prepared>> PrepareSecond(const MeasureShapes& shapes) {
    absl::StatusOr<Prepared> other =
        PrepareResult(Bytes(second_), shapes, threads_, stop_, read_as_);
    if (GetReason(other.status()) == Reason::kModelShape) {
      result_.failure = absl::StrCat("it does not take the sizes ", verify::ToString(shapes.shapes),
                                     ": ", other.status().message());
      return std::nullopt;
    }
    if (!other.ok()) return About(second_, other.status());
    QUOTIENT_RETURN_IF_ERROR(CheckSize(second_, *other));
    return *std::move(other);
  }

  absl::Status CompareValues(const Prepared& original, const model::Graph& as_read) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Prepared> other, PrepareSecond(original.shapes));
    if (!other.has_value()) return absl::OkStatus();
    const auto gone = CompareUncomputed(original, *other);
    if (!gone.ok()) return About(second_, gone.status());
    const verify::Checked checked = {&other->model.graph, &other->cut};
    absl::StatusOr<verify::Checker> checker = verify::Checker::Create(
        {&as_read, &original.cut}, original.shapes.shapes,
        {options_.verify_inputs, options_.seed, threads_, options_.assume_finite_inputs, &checked},
        stop_);
    if (!checker.ok()) return About(first_, checker.status());
    const absl::StatusOr<verify::Verdict> verdict = checker->Check(checked, stop_);
    if (!verdict.ok()) return About(second_, verdict.status());
    if (!verdict->passed) {
      if (!gone->empty()) return About(first_, NotEvaluated(gone->front(), "the other has none"));
      const std::string unknown = RestsOnUncomputed(original.cut, other->cut, verdict->output);
      if (!unknown.empty()) return About(second_, NotEvaluated(unknown, verdict->failure));
    }
    Describe(*checker, original, *verdict);
    if (!verdict->passed) Locate(*checker, checked, *verdict);
    return absl::OkStatus();
  }

  static absl::Status NotEvaluated(absl::string_view node, absl::string_view what) {
    return MakeError(Reason::kModelUnsupported,
                     absl::StrCat("node '", node,
                                  "' cannot be evaluated here, so it is not known "
                                  "whether the models are the same: ",
                                  what));
  }

  void Describe(const verify::Checker& checker, const Prepared& original,
                const verify::Verdict& verdict) {
    result_.is_same = verdict.passed;
    result_.failure = verdict.failure;
    result_.output = verdict.output;
    result_.input_sets = verdict.inputs;
    result_.max_relative_error = verdict.max_relative_error;
    result_.tolerance = verdict.tolerance;
    DescribeSizes(checker, original, verdict);
    if (!checker.note().empty()) result_.notes.push_back(checker.note());
    if (!verdict.passed) return;  // What follows is about all sets of inputs.
    if (original.cut.cut_nodes > 0) {
      result_.notes.push_back(
          absl::StrCat(Counted(original.cut.cut_nodes, "node"),
                       " cannot be evaluated here; those that both models have are the same, and "
                       "what they read was compared"));
    }
    for (const std::string& output : verdict.never_finite) {
      result_.notes.push_back(
          absl::StrCat(output,
                       " was never finite, so that of its elements only the places of NaN "
                       "and infinities were compared"));
    }
  }

  // Those at which both were compared: the checker ends at the first that shows a difference, and
  // comes to the sizes of measuring last.
  void DescribeSizes(const verify::Checker& checker, const Prepared& original,
                     const verify::Verdict& verdict) {
    if (verdict.bound_at < 0) {
      result_.sizes.push_back({.shapes = verify::ToString(original.shapes.shapes),
                               .nodes = static_cast<int>(original.cut.graph.nodes.size()),
                               .nodes_left_out = original.cut.cut_nodes});
    }
    const auto last = verdict.bound_at < 0 ? std::ssize(checker.bindings()) : verdict.bound_at + 1;
    for (const verify::CheckedBinding& binding :
         std::span(checker.bindings()).first(static_cast<size_t>(last))) {
      result_.sizes.push_back({.shapes = verify::ToString(binding.shapes),
                               .kind = std::string(verify::ToString(binding.kind)),
                               .nodes = binding.nodes,
                               .nodes_left_out = binding.cut});
    }
  }

  // The verdict stands whether or not there is time and memory to find that.
  void Locate(const verify::Checker& checker, const verify::Checked& checked,
              const verify::Verdict& verdict) {
    using Found = absl::StatusOr<std::optional<verify::FirstDifference>>;
    const Found first = WithinMemory([&] { return checker.Locate(checked, verdict, stop_); },
                                     [] { return Found(std::nullopt); });
    if (!first.ok() || !first->has_value()) return;
    const verify::FirstDifference& parted = **first;
    result_.parted = {.name = parted.value,
                      .op = parted.op,
                      .element = parted.element,
                      .first = parted.original,
                      .second = parted.other,
                      .agreeing = parted.agreeing};
  }

  const ModelFiles& first_;
  const ModelFiles& second_;
  const Options& options_;
  const int threads_;
  const StopCondition& stop_;
  ResultOptions read_as_;  // The second.
  report::Comparison result_;
};

}  // namespace

absl::StatusOr<report::Comparison> CompareModels(const ModelFiles& first, const ModelFiles& second,
                                                 const Options& options,
                                                 const StopCondition& stop) {
  QUOTIENT_RETURN_IF_ERROR(options.Validate());
  return WithinMemory([&] { return Comparer(first, second, options, stop).Run(); },
                      []() -> absl::StatusOr<report::Comparison> {
                        return MakeError(Reason::kModelUnsupported, "no memory is left");
                      });
}

}  // namespace quotient::optimize
