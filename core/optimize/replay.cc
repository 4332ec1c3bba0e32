#include "core/optimize/replay.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/domain/facts.h"
#include "core/eval/fold.h"
#include "core/onnx/writer.h"
#include "core/optimize/footprint.h"
#include "core/optimize/memory.h"
#include "core/optimize/prepared.h"
#include "core/os/file_name.h"
#include "core/os/memory.h"

namespace quotient::optimize {
namespace {

absl::Status Invalid(absl::string_view why) { return MakeError(Reason::kJournalInvalid, why); }

class Replayer {
 public:
  Replayer(const ModelFiles& files, const journal::Journal::Derivation& derivation, int threads,
           const StopCondition& stop, std::span<const rules::Family> families)
      : files_(files),
        derivation_(derivation),
        preparation_(derivation.preparation),
        settings_(SettingsToReplay(derivation.preparation, families)),
        threads_(threads),
        stop_(stop) {}

  absl::StatusOr<Replayed> Run() {
    QUOTIENT_RETURN_IF_ERROR(CheckLocation());
    const Options options = OptionsToRead();
    QUOTIENT_RETURN_IF_ERROR(Blamed(options.Validate()));
    const InputNames names =
        preparation_.names_are_forgotten ? InputNames::kForgotten : InputNames::kEqual;
    absl::StatusOr<Prepared> prepared = Prepare(files_, options, threads_, stop_, {.names = names});
    QUOTIENT_RETURN_IF_ERROR(Blamed(prepared.status()));
    const model::Graph& cut = prepared->cut.graph;
    QUOTIENT_RETURN_IF_ERROR(
        CheckFits(cut, LoadOf(files_, cut, RunBy::kNothing, /*input_sets=*/0, /*candidates=*/1)));
    QUOTIENT_ASSIGN_OR_RETURN(model::Graph graph, Rewritten(prepared->graph, prepared->measured));
    QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(graph, options.Folding(threads_), stop_));
    return Written(prepared->model, graph);
  }

 private:
  Options OptionsToRead() const {
    Options options;
    options.shapes = preparation_.shapes;
    options.measure_shapes = preparation_.measure_shapes;
    options.freeze_initializers = preparation_.freeze_initializers;
    options.kept_values = preparation_.kept_values;
    options.assume_finite_inputs = preparation_.assume_finite_inputs;
    options.max_folded_bytes = preparation_.max_folded_bytes;
    return options;
  }

  static journal::ReplaySettings SettingsToReplay(const journal::Preparation& preparation,
                                                  std::span<const rules::Family> families) {
    journal::ReplaySettings settings = SettingsOf(preparation, families);
    settings.most_bytes = os::kShareToUse * static_cast<double>(os::MemoryBytes());
    return settings;
  }

  // The caller writes a file of this name.
  absl::Status CheckLocation() const {
    const std::string& location = preparation_.external_location;
    const bool is_used = derivation_.external_data.has_value() || !location.empty();
    if (!is_used || os::IsPlainFileName(location)) return absl::OkStatus();
    return Invalid("the external data's location is no plain file name");
  }

  // The options are those of the journal.
  static absl::Status Blamed(const absl::Status& status) {
    if (GetReason(status) != Reason::kOptionInvalid) return status;
    return Invalid(absl::StrCat("the journal's preparation: ", status.message()));
  }

  absl::StatusOr<model::Graph> Rewritten(const model::Graph& graph,
                                         const model::Graph& measured) const {
    const journal::Rewriting& rewriting = derivation_.rewriting;
    journal::StepBudget budget(stop_);
    QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<journal::ReplayEGraph> replay,
                              journal::ReplayEGraph::Begin(graph, measured, settings_, &budget));
    QUOTIENT_RETURN_IF_ERROR(replay->Make(rewriting.rewrites));
    absl::StatusOr<model::Graph> result = replay->Finish(rewriting);
    if (result.ok()) return result;
    return Annotate(result.status(), "the graph");
  }

  absl::StatusOr<Replayed> Written(const onnx::Model& original, const model::Graph& graph) const {
    absl::StatusOr<onnx::WrittenModel> written =
        onnx::Write(original, graph,
                    {.max_opset = preparation_.max_opset,
                     .external_location = preparation_.external_location,
                     .bind_types = !preparation_.shapes.empty(),
                     .annotate_types = preparation_.annotates_types,
                     .constants_as_initializers = preparation_.constants_as_initializers});
    if (!written.ok()) {
      return Invalid(absl::StrCat("the result cannot be written: ", written.status().message()));
    }
    Replayed replayed;
    replayed.model = BlobId::Of(written->bytes);
    replayed.rewrites = static_cast<int64_t>(derivation_.rewriting.rewrites.size());
    replayed.conditions = ConditionsOf(preparation_);
    const bool has_external = !written->external_data.empty();
    const bool is_same =
        replayed.model == derivation_.model &&
        has_external == derivation_.external_data.has_value() &&
        (!has_external || BlobId::Of(written->external_data) == *derivation_.external_data);
    if (!is_same) return Invalid("the result is not the file that the journal is about");
    replayed.files.model = std::move(written->bytes);
    if (has_external) {
      replayed.files.external_location = preparation_.external_location;
      replayed.files.external_data = std::move(written->external_data);
    }
    return replayed;
  }

  const ModelFiles& files_;
  const journal::Journal::Derivation& derivation_;
  const journal::Preparation& preparation_;
  const journal::ReplaySettings settings_;
  const int threads_;
  const StopCondition& stop_;
};

// Whether this version can replay the journal, with this model.
absl::Status CheckIsAbout(const ModelFiles& files, const journal::Journal& journal) {
  if (journal.engine != EngineVersion()) {
    return MakeError(Reason::kJournalVersion,
                     absl::StrCat("Quotient ", absl::CEscape(journal.engine),
                                  " made the journal, and no other version can replay it; this is ",
                                  EngineVersion()));
  }
  if (BlobId::Of(files.model) == journal.model) return absl::OkStatus();
  return Invalid("the journal is about another model");
}

}  // namespace

std::vector<std::string> ConditionsOf(const journal::Preparation& preparation) {
  std::vector<std::string> conditions;
  for (const auto& [name, dims] : preparation.shapes) {
    conditions.push_back(absl::StrCat("input '", absl::CEscape(name), "' has the shape [",
                                      absl::StrJoin(dims, ","), "]"));
  }
  if (preparation.freeze_initializers) {
    conditions.push_back("no input is given for a weight that has a default");
  }
  if (preparation.assume_finite_inputs) {
    conditions.push_back(
        absl::StrFormat("float inputs hold no NaN, no infinity and nothing beyond %g",
                        domain::kLargestAssumedInput));
  }
  return conditions;
}

journal::ReplaySettings SettingsOf(const journal::Preparation& preparation,
                                   std::span<const rules::Family> families) {
  return {.max_opset = preparation.max_opset,
          .assume_finite_inputs = preparation.assume_finite_inputs,
          .max_folded_bytes = preparation.max_folded_bytes,
          .families = families};
}

absl::StatusOr<Replayed> ReplayJournal(const ModelFiles& files, absl::string_view text, int threads,
                                       const StopCondition& stop,
                                       std::span<const rules::Family> families) {
  return WithinMemory(
      [&]() -> absl::StatusOr<Replayed> {
        QUOTIENT_ASSIGN_OR_RETURN(const journal::Journal journal, journal::FromText(text));
        QUOTIENT_RETURN_IF_ERROR(CheckIsAbout(files, journal));
        if (journal.derivation.has_value()) {
          return Replayer(files, *journal.derivation, threads, stop, families).Run();
        }
        return Replayed{.files = {.model = std::string(files.model)},
                        .is_original = true,
                        .model = journal.model};
      },
      [] { return absl::StatusOr<Replayed>(MakeError(Reason::kLimitBytes, "no memory is left")); });
}

}  // namespace quotient::optimize
