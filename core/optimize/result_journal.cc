#include "core/optimize/result_journal.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/journal/derive.h"
#include "core/ops/infer_graph.h"
#include "core/optimize/grown_egraph.h"
#include "core/optimize/replay.h"

namespace quotient::optimize {
namespace {

journal::Preparation PreparationOf(const Options& options, const Packaged& candidate,
                                   const Prepared& from, const PackageSettings& settings) {
  return {.shapes = options.shapes,
          .measure_shapes = from.shapes.shapes,
          .freeze_initializers = options.freeze_initializers,
          .kept_values = options.kept_values,
          .assume_finite_inputs = options.assume_finite_inputs,
          .max_folded_bytes = options.max_folded_bytes,
          .max_opset = settings.max_opset,
          .names_are_forgotten = candidate.written_from != nullptr,
          .annotates_types = settings.annotate_types,
          .constants_as_initializers = settings.constants_as_initializers,
          .external_location = settings.external_location};
}

journal::Remarks RemarksOf(const report::Report& report) {
  journal::Remarks remarks = {.device = report.device,
                              .max_relative_error = report.verification.max_relative_error,
                              .tolerance = report.verification.tolerance,
                              .inputs = report.verification.inputs};
  for (const report::RuleGain& gain : report.gains.by_rules) {
    journal::Remarks::Saving& saving = remarks.savings.emplace_back();
    saving = {.rules = gain.rules, .sites = {}, .us = gain.saved_us()};
    for (const report::RegionGain& region : gain.regions) {
      saving.sites.insert(saving.sites.end(), region.sites.begin(), region.sites.end());
    }
  }
  return remarks;
}

}  // namespace

absl::StatusOr<journal::Journal::Derivation> DerivationOf(
    const Options& options, std::span<const rules::Family> families, const Prepared& original,
    const Packaged& candidate, const PackageSettings& settings, const OptimizedModel& files,
    const StopCondition& stop) {
  const Prepared& from =
      candidate.written_from != nullptr ? *candidate.written_from : original;
  journal::Journal::Derivation derivation;
  derivation.preparation = PreparationOf(options, candidate, from, settings);
  const journal::RoundSettings round_settings = SettingsOf(derivation.preparation, families);
  for (const std::shared_ptr<const ChosenFrom>& chosen : candidate.chosen_from) {
    if (chosen->grown == nullptr) {
      return MakeError(Reason::kInternal, "the e-graph of its search is not there any more");
    }
    // What the first search began with is known; the others began with what one made.
    const domain::TensorEGraph& tensors = chosen->grown->tensors();
    absl::StatusOr<model::Graph> measured = from.measured;
    if (!derivation.rounds.empty()) {
      measured = ops::BindShapes(tensors.original, from.shapes.shapes);
    }
    QUOTIENT_RETURN_IF_ERROR(measured.status());
    QUOTIENT_ASSIGN_OR_RETURN(
        journal::Derived derived,
        journal::Derive({tensors, chosen->grown->rules(), chosen->choice, chosen->splits},
                        *measured, round_settings, stop));
    derivation.rounds.push_back(std::move(derived.round));
  }
  derivation.model = BlobId::Of(files.model);
  if (!files.external_location.empty()) {
    derivation.external_data = BlobId::Of(files.external_data);
  }
  return derivation;
}

std::string JournalText(const ModelFiles& files,
                        std::optional<journal::Journal::Derivation> derivation,
                        const report::Report& report) {
  return journal::ToText({.engine = std::string(EngineVersion()),
                          .model = BlobId::Of(files.model),
                          .derivation = std::move(derivation),
                          .remarks = RemarksOf(report)});
}

}  // namespace quotient::optimize
