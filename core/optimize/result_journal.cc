#include "core/optimize/result_journal.h"

#include <utility>

#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/journal/derive.h"
#include "core/optimize/memory.h"
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

absl::StatusOr<journal::Journal::Derivation> DerivationOf(const Job& job, const Baseline& baseline,
                                                          const Packaged& candidate,
                                                          const OptimizedModel& files) {
  using Derivation = journal::Journal::Derivation;
  const Prepared& from =
      candidate.written_from != nullptr ? *candidate.written_from : baseline.original.prepared;
  const ChosenFrom& chosen = *candidate.chosen_from;
  Derivation derivation;
  derivation.preparation =
      PreparationOf(job.options, candidate, from, SettingsToPackage(job, baseline));
  const JournalBudget limits = job.budget.ForJournal(job.stop);
  journal::StepBudget budget(limits.stop, limits.steps);
  absl::StatusOr<journal::Derived> derived = WithinMemory(
      [&] {
        return journal::Derive({*chosen.tensors, chosen.rules, chosen.choice, chosen.splits},
                               from.measured, SettingsOf(derivation.preparation, job.families),
                               &budget);
      },
      [] {
        return absl::StatusOr<journal::Derived>(
            MakeError(Reason::kLimitBytes, "no memory is left"));
      });
  QUOTIENT_RETURN_IF_ERROR(derived.status());
  Log().info("the journal took {} steps", budget.taken());
  derivation.rewriting = std::move(derived->rewriting);
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
