#include "core/optimize/package.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/onnx/content_digest.h"
#include "core/optimize/same_kernels.h"

namespace quotient::optimize {
namespace {

onnx::WriteOptions ToWrite(const PackageSettings& settings) {
  return {.max_opset = settings.max_opset,
          .external_location = settings.external_location,
          .bind_types = settings.bind_types,
          .annotate_types = settings.annotate_types,
          .constants_as_initializers = settings.constants_as_initializers};
}

}  // namespace

PackageSettings SettingsToPackage(const Job& job, const Baseline& baseline) {
  const Original& original = baseline.original;
  PackageSettings settings = {.max_opset = MaxOpset(job.options, original.prepared.model),
                              .external_location = job.environment.external_location,
                              .bind_types = !job.options.shapes.empty(),
                              .kept_values = job.options.kept_values,
                              .threads = job.threads};
  if (baseline.file_costs.has_value()) {
    settings.device = original.device.get();
    settings.file_costs = &*baseline.file_costs;
  }
  return settings;
}

absl::StatusOr<Packaged> Package(const Prepared& original, Candidate candidate,
                                 const PackageSettings& settings, cost::CostModel& costs,
                                 const PackageStops& stops) {
  auto written = std::make_shared<WrittenCandidate>();
  written->graph = std::move(candidate.graph);
  onnx::WriteOptions options = ToWrite(settings);
  options.refer_to_weights = true;
  QUOTIENT_ASSIGN_OR_RETURN(written->model, onnx::Write(original.model, written->graph, options));
  Packaged packaged;
  packaged.written = written;
  const ModelBytes bytes = {written->model.bytes, written->model.weights, written};
  QUOTIENT_ASSIGN_OR_RETURN(packaged.prepared,
                            PrepareResult(bytes, original.shapes, settings.threads, stops.stop,
                                          {.kept_values = settings.kept_values}));
  packaged.journal = std::move(candidate.journal);
  packaged.names = std::move(candidate.names);
  packaged.left_out = std::move(candidate.left_out);
  packaged.written_from = settings.written_from;
  packaged.found = candidate.found;
  packaged.chosen_from = std::move(candidate.chosen_from);
  if (settings.file_costs != nullptr) {
    std::optional<cost::GraphCost> cost =
        CostOfFile(*settings.device, {bytes.model, bytes.external_data, written}, packaged.prepared,
                   *settings.file_costs, [&] { return stops.pricing; });
    // Its kernels in the partition cost something else than the original's file.
    if (!cost.has_value()) {
      return MakeError(Reason::kModelUnsupported, "the device cannot tell the kernels of its file");
    }
    packaged.cost = *std::move(cost);
    return packaged;
  }
  QUOTIENT_ASSIGN_OR_RETURN(packaged.cost,
                            cost::PredictGraph(packaged.prepared.cut.graph, costs, stops.pricing));
  return packaged;
}

absl::StatusOr<PackagedCandidates> PackageCandidates(const Job& job, const Baseline& baseline,
                                                     Candidates candidates) {
  const Clock& clock = job.environment.clock;
  const int64_t start = clock.NowNs();
  const PackageSettings settings = SettingsToPackage(job, baseline);
  PackagedCandidates packaged{.applied = candidates.AppliedRules(),
                              .variants = std::move(candidates.variants)};
  for (size_t i = 0; i < candidates.found.size(); ++i) {
    const StopCondition in_time = job.budget.ForChecks(job.stop);
    absl::StatusOr<Packaged> one =
        Package(baseline.original.prepared, std::move(candidates.found[i]), settings,
                baseline.costs(), {i == 0 ? job.stop : in_time, in_time});
    if (job.stop.cancelled()) return Cancelled();
    if (!one.ok() && GetReason(one.status()) == Reason::kRunBudget) {
      packaged.time_was_up = true;
    } else if (!one.ok()) {
      packaged.failures.push_back(one.status());
    } else if (TakesTimeOfOriginal(baseline, *one)) {
      packaged.without_effect.push_back(std::move(one->journal));
    } else {
      packaged.written.push_back(*std::move(one));
    }
  }
  packaged.seconds = clock.SecondsSince(start);
  return packaged;
}

absl::StatusOr<Delivery> Deliver(const Prepared& original, const Packaged& candidate,
                                 const PackageSettings& settings) {
  const Prepared& from = candidate.written_from != nullptr ? *candidate.written_from : original;
  QUOTIENT_ASSIGN_OR_RETURN(onnx::WrittenModel written,
                            onnx::Write(from.model, candidate.written->graph, ToWrite(settings)));
  Delivery delivery;
  delivery.files.model = std::move(written.bytes);
  std::map<std::string, absl::string_view> external;
  if (!written.external_data.empty()) {
    delivery.files.external_location = settings.external_location;
    delivery.files.external_data = std::move(written.external_data);
    external[settings.external_location] = delivery.files.external_data;
  }
  QUOTIENT_ASSIGN_OR_RETURN(delivery.model, ReadResult({delivery.files.model, external, nullptr},
                                                       {.kept_values = settings.kept_values}));
  QUOTIENT_ASSIGN_OR_RETURN(const Digest delivered, onnx::ContentDigest(delivery.model));
  QUOTIENT_ASSIGN_OR_RETURN(const Digest checked, onnx::ContentDigest(candidate.prepared.model));
  if (delivered == checked) return delivery;
  return absl::InternalError("the files have another graph than the one that was checked");
}

}  // namespace quotient::optimize
