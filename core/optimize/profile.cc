#include "core/optimize/profile.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/baseline.h"
#include "core/optimize/devices.h"
#include "core/optimize/job.h"
#include "core/optimize/notes.h"
#include "core/optimize/subject.h"
#include "core/os/probe.h"
#include "core/timing/run_profile.h"
#include "core/verify/random_inputs.h"

namespace quotient::optimize {
namespace {

// What the device says of a model that it cannot run is the model's matter, not the device's.
absl::Status AsRefusal(const absl::Status& status, const Job& job) {
  if (!absl::IsUnimplemented(status) || GetReason(status).has_value()) return status;
  return MakeError(Reason::kModelUnsupported,
                   absl::StrCat("the device ", job.options.device,
                                " cannot run this model: ", status.message()));
}

absl::StatusOr<timing::RunProfile> RunInLane(const Job& job, const Original& original) {
  Device& device = *original.device;
  const Prepared& prepared = original.prepared;
  const Subject subject{prepared.model.graph,
                        prepared.cut,
                        {job.files.model, job.files.external_data, nullptr},
                        prepared.model.kept_values};
  const std::vector<model::Tensor> inputs =
      verify::RandomInputs(prepared.cut.graph, job.options.seed);
  absl::StatusOr<timing::RunProfile> profile;
  device.lane()->Run([&] {
    profile = [&]() -> absl::StatusOr<timing::RunProfile> {
      QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<kernels::Executable> executable,
                                CompileSubject(subject, inputs, *device.backend(), device.plans()));
      const std::unique_ptr<os::Probe> probe = os::NewSystemProbe(job.threads);
      return timing::ProfileRuns(*executable, {}, *probe, job.stop);
    }();
  });
  if (!profile.ok()) return AsRefusal(profile.status(), job);
  return profile;
}

// The time of each kernel that is not free, in the order of `cost.groups`. Kernels of a file are
// found by their labels; those of one label run in the order of the groups.
std::vector<std::optional<double>> TimesOfKernels(const cost::GraphCost& cost,
                                                  const timing::RunProfile& run) {
  if (run.recorded.empty()) return {run.kernel_us.begin(), run.kernel_us.end()};
  absl::flat_hash_map<std::string, std::deque<double>> by_label;
  for (const timing::LabelledTime& kernel : run.recorded) {
    by_label[kernel.label].push_back(kernel.us);
  }
  std::vector<std::optional<double>> times;
  for (const kernels::KernelGroup& group : cost.groups) {
    if (group.spec.free) continue;
    std::deque<double>& left = by_label[group.label];
    times.push_back(left.empty() ? std::nullopt : std::optional(left.front()));
    if (!left.empty()) left.pop_front();
  }
  return times;
}

std::vector<std::string> NotesOn(const Job& job, const Original& original,
                                 const timing::RunProfile& run,
                                 const std::vector<std::optional<double>>& kernel_us) {
  std::vector<std::string> notes =
      NotesOnReading(original.prepared, job.options, original.device->runs_files());
  const auto is_told = [](const std::optional<double>& us) { return us.has_value(); };
  if (std::ranges::none_of(kernel_us, is_told)) {
    notes.push_back(absl::StrCat("the device ", job.options.device,
                                 " does not tell what each of the predicted kernels takes inside "
                                 "of a run, so only the whole is compared"));
  }
  if (run.contaminated) {
    notes.emplace_back(
        "other work on the machine disturbed most of the runs, so what is measured is too long");
  }
  return notes;
}

}  // namespace

absl::StatusOr<report::Profile> ProfileModel(const ModelFiles& files, const Options& options,
                                             const Environment& environment,
                                             const StopCondition& stop) {
  QUOTIENT_RETURN_IF_ERROR(options.Validate());
  const int threads = options.ThreadsToUse();
  Options resolved = options;
  QUOTIENT_ASSIGN_OR_RETURN(resolved.device, environment.devices->Resolve(options.device, threads));
  resolved.budget_seconds = std::numeric_limits<double>::infinity();  // All kernels are wanted.
  Budget budget(resolved, environment.clock, stop);
  const Job job{.families = {},
                .files = files,
                .options = resolved,
                .environment = environment,
                .stop = stop,
                .budget = budget,
                .threads = threads};
  QUOTIENT_ASSIGN_OR_RETURN(const auto read, ReadOriginal(job));
  if (const Unusable* const unusable = std::get_if<Unusable>(&read)) return unusable->model.why;
  const Original& original = std::get<Original>(read);
  Device& device = *original.device;
  if (device.backend() == nullptr) {
    return MakeError(Reason::kOptionInvalid,
                     absl::StrCat("device: nothing can be run on '", resolved.device,
                                  "', so nothing can be compared; these can run: ",
                                  AcceptedDevices(DeviceFilter::kMeasured)));
  }
  QUOTIENT_ASSIGN_OR_RETURN(const Baseline baseline, PredictBaseline(job, original));
  QUOTIENT_ASSIGN_OR_RETURN(const timing::RunProfile run, RunInLane(job, original));
  const std::vector<std::optional<double>> kernel_us = TimesOfKernels(baseline.cost, run);
  report::Profile profile{.model_name = files.name,
                          .device = resolved.device,
                          .fingerprint = device.costs().fingerprint(),
                          .threads = job.threads,
                          .measured_us = run.run_us,
                          .runs = run.runs,
                          .notes = NotesOn(job, original, run, kernel_us)};
  report::DescribeKernels(original.prepared.cut.graph, baseline.cost, kernel_us, &profile);
  return profile;
}

}  // namespace quotient::optimize
