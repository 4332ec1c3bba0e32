#include "core/optimize/baseline.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/onnx/writer.h"
#include "core/optimize/footprint.h"
#include "core/optimize/memory.h"
#include "core/optimize/notes.h"
#include "core/timing/lane.h"

namespace quotient::optimize {
namespace {

absl::Status NoMemory(Reason reason) { return MakeError(reason, "no memory is left"); }

// Returns how many alternatives memory can hold. Fails if there is no memory for a single
// candidate.
absl::StatusOr<int> AlternativesThatFit(const Job& job, const Device& device,
                                        const model::Graph& graph) {
  absl::Status status;
  for (int alternatives = kMostAlternatives; alternatives >= 0; --alternatives) {
    status = CheckFits(graph, LoadOf(job.files, graph, device.run_by(), job.options.verify_inputs,
                                     MostCandidates(alternatives)));
    if (status.ok()) return alternatives;
  }
  return status;
}

// The cost of the file, if the device can tell it.
std::optional<cost::GraphCost> PredictAsFile(const Job& job, const Original& original,
                                             const FileCostContext& context) {
  return CostOfFile(*original.device, {job.files.model, job.files.external_data, nullptr},
                    original.prepared, context, [&] { return job.budget.ForFile(job.stop); });
}

int FootprintOf(const cost::GraphCost& cost) {
  int footprint = 0;
  for (const kernels::KernelGroup& group : cost.groups) {
    footprint = std::max(footprint, group.spec.constant_footprint_log2);
  }
  return footprint;
}

// What a run takes by the prior alone, so that it does not matter which kernels are known already.
absl::StatusOr<double> PriorUs(const model::Graph& graph, cost::CostModel& costs) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<kernels::KernelGroup> groups,
                            kernels::PartitionGraph(graph, costs.partition()));
  double us = 0;
  for (const kernels::KernelGroup& group : groups) us += costs.Prior(group.spec).us;
  return us;
}

absl::StatusOr<Baseline> Predict(const Job& job, const Original& original) {
  const model::Graph& graph = original.prepared.cut.graph;
  Device& device = *original.device;
  Baseline baseline{.original = original};
  if (device.backend() != nullptr) {
    QUOTIENT_ASSIGN_OR_RETURN(const double prior_us, PriorUs(graph, device.costs()));
    job.budget.FitTo(prior_us * 1e-6);
  }
  // The kernels of the file come first, because the search, which needs those of the partition, can
  // wait for them itself.
  std::optional<cost::GraphCost> of_file;
  if (device.runs_files()) {
    FileCostContext context = NewFileCostContext(original.prepared, job.options.seed);
    of_file = PredictAsFile(job, original, context);
    if (of_file.has_value()) {
      context.footprint_log2 = FootprintOf(*of_file);
      baseline.file_costs.emplace(std::move(context));
    }
  }
  const StopCondition in_time = job.budget.ForBaseline(job.stop);
  QUOTIENT_ASSIGN_OR_RETURN(baseline.cost, cost::PredictGraph(graph, device.costs(), in_time));
  if (of_file.has_value()) baseline.cost = *std::move(of_file);
  if (device.snapshot() == nullptr) return baseline;
  baseline.notes = NotesOnSnapshot(CountKernels(baseline.cost));
  baseline.calibrated = cost::NewCalibratedCostModel(&device.costs(), baseline.cost);
  QUOTIENT_ASSIGN_OR_RETURN(baseline.cost,
                            cost::PredictGraph(graph, *baseline.calibrated, in_time));
  return baseline;
}

}  // namespace

int WantedOpset(const Options& options, const onnx::Model& model) {
  constexpr int kRaisedByDefault = 20;
  return options.max_opset > 0 ? options.max_opset : std::max(model.opset, kRaisedByDefault);
}

int MaxOpset(const Options& options, const onnx::Model& model) {
  return onnx::HighestOpset(model, WantedOpset(options, model));
}

absl::StatusOr<std::variant<Original, Unusable>> ReadOriginal(const Job& job) {
  // The device comes first: if it is not there, nothing needs to be done for it.
  QUOTIENT_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                            WithinMemory(
                                [&] {
                                  return job.environment.devices->Get(
                                      job.options.device, job.threads,
                                      job.environment.device_snapshot);
                                },
                                [] { return NoMemory(Reason::kLimitBytes); }));
  auto read = PrepareOrDescribe(job.files, job.options, job.threads, job.stop);
  if (Unprepared* const unprepared = std::get_if<Unprepared>(&read)) {
    return Unusable{std::move(device), std::move(*unprepared)};
  }
  Prepared& prepared = std::get<Prepared>(read);
  const absl::StatusOr<int> alternatives = AlternativesThatFit(job, *device, prepared.cut.graph);
  if (alternatives.ok()) return Original{std::move(device), std::move(prepared), *alternatives};
  return Unusable{
      std::move(device),
      {alternatives.status(), std::move(prepared.model), std::move(prepared.stale_declarations)}};
}

bool MoveToOneThread(const Job& job, Original* original) {
  Device& device = *original->device;
  if (!device.has_core_per_thread()) return false;
  bool is_free = false;
  device.lane()->Run([&] {
    const timing::Lane::Quiet quiet(device.lane());
    is_free = job.environment.has_free_cores(device.threads());
  });
  if (is_free) return false;
  auto alone = job.environment.devices->Get(job.options.device, 1);
  if (!alone.ok()) return false;
  device.backend()->Rest();
  original->device = *std::move(alone);
  return true;
}

report::KernelCounts CountKernels(const cost::GraphCost& cost) {
  report::KernelCounts counts;
  for (const cost::KernelCost& kernel : cost.costs) {
    if (kernel.source == cost::CostSource::kMeasured) ++counts.measured;
    if (kernel.source == cost::CostSource::kModel) ++counts.estimated;
  }
  return counts;
}

absl::StatusOr<Baseline> PredictBaseline(const Job& job, const Original& original) {
  return WithinMemory([&] { return Predict(job, original); },
                      [] { return NoMemory(Reason::kModelUnsupported); });
}

Baseline AtPresent(Baseline baseline) {
  baseline.cost = cost::AtPresent(std::move(baseline.cost), baseline.costs());
  return baseline;
}

}  // namespace quotient::optimize
