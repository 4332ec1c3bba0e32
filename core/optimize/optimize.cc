// The path of a model, stage by stage. Read this first; each stage lives in a file of its own. This
// one is long because it is the only place that knows all stages: what one hands to the next, and
// what each may cost the result when it fails.

#include "core/optimize/optimize.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "core/kernels/partition.h"
#include "core/onnx/writer.h"
#include "core/optimize/candidates.h"
#include "core/optimize/decide.h"
#include "core/optimize/devices.h"
#include "core/optimize/footprint.h"
#include "core/optimize/notes.h"
#include "core/optimize/optimize_internal.h"
#include "core/optimize/package.h"
#include "core/optimize/prepared.h"
#include "core/optimize/rescue.h"
#include "core/report/describe.h"
#include "core/verify/checker.h"
#include "core/verify/compare.h"
#include "core/verify/random_inputs.h"

namespace quotient::optimize {
namespace {

report::KernelCounts CountKernels(const cost::GraphCost& cost) {
  report::KernelCounts counts;
  for (const cost::KernelCost& kernel : cost.costs) {
    if (kernel.source == cost::CostSource::kMeasured) ++counts.measured;
    if (kernel.source == cost::CostSource::kModel) ++counts.estimated;
  }
  return counts;
}

report::GraphFigures FiguresOf(const onnx::Model& model, const cost::GraphCost& cost,
                               const report::Measured& measured) {
  return {.nodes = NodeCount(model),
          .predicted_us = cost.total_us,
          .kernels = CountKernels(cost),
          .measured = measured};
}

double GainPercent(double before, double after) {
  return before > 0 ? (before - after) / before * 100 : 0;
}

class Run {
 public:
  Run(std::span<const rules::Family> families, const ModelFiles& files, const Options& options,
      const Environment& environment, const StopCondition& stop, ProgressSink* progress)
      : families_(families),
        files_(files),
        options_(options),
        environment_(environment),
        stop_(stop),
        sink_(progress),
        threads_(options.ThreadsToUse()) {}

  absl::StatusOr<Result> Execute() {
    QUOTIENT_RETURN_IF_ERROR(options_.Validate());
    QUOTIENT_RETURN_IF_ERROR(TryStage("read", [this] { return Read(); }));
    QUOTIENT_RETURN_IF_ERROR(TryStage("baseline", [this] { return Baseline(); }));
    QUOTIENT_RETURN_IF_ERROR(TryStage("search", [this] { return SearchStage(); }));
    if (passed_through()) return Finish();
    QUOTIENT_RETURN_IF_ERROR(Stage("package", [this] { return PackageStage(); }));
    QUOTIENT_RETURN_IF_ERROR(Stage("verify", [this] { return Verify(); }));
    if (device_->backend() == nullptr) {
      DecideByCosts();
    } else {
      QUOTIENT_RETURN_IF_ERROR(Stage("measure", [this] { return Measure(); }));
    }
    return Finish();
  }

 private:
  // Every stage goes through here: stop check, progress, time, and the stage's name before its
  // error's message.
  absl::Status Stage(absl::string_view name, const std::function<absl::Status()>& body) {
    if (stop_.cancelled()) return MakeError(Reason::kCancelled, "the job was cancelled");
    if (stop_.ShouldStop()) {
      return MakeError(Reason::kRunBudget, absl::StrCat("time was up before the phase ", name));
    }
    progress_.phase = std::string(name);
    progress_.detail.clear();
    progress_.best_share = 0;
    ReportProgress(0);
    const int64_t start = clock_.NowNs();
    absl::Status status;
    try {
      status = body();
    } catch (const std::bad_alloc&) {
      status = OutOfMemory(name);
    }
    // What else came of it then is worth nothing: not even that nothing was found.
    if (device_ != nullptr && !device_->health().ok()) status = device_->health();
    report_.phase_seconds[std::string(name)] = clock_.SecondsSince(start);
    ReportProgress(1);
    Log().info("phase {} took {:.2f} s", progress_.phase, clock_.SecondsSince(start));
    return status;
  }

  // A stage that can find that there is nothing to be done for the model. A model that does no harm
  // is not refused for that: others may well run it, so it comes back as it came.
  absl::Status TryStage(absl::string_view name, const std::function<absl::Status()>& body) {
    if (passed_through()) return absl::OkStatus();
    const absl::Status status = Stage(name, body);
    const Reason reason = GetReason(status).value_or(Reason::kInternal);
    if (status.ok() || (reason != Reason::kModelShape && reason != Reason::kShapeMissing &&
                        reason != Reason::kModelUnsupported && reason != Reason::kOpsetUnknown)) {
      return status;
    }
    report_.passed_through = std::string(ReasonName(reason));
    report_.notes.push_back(absl::StrCat("the model came back untouched, nothing was tried (",
                                         report_.passed_through, "): ", status.message()));
    return absl::OkStatus();
  }

  bool passed_through() const { return !report_.passed_through.empty(); }

  // Sizes are looked at in Read; this is for a machine that others crowd. The original stays.
  absl::Status OutOfMemory(absl::string_view phase) {
    candidates_.clear();
    packaged_.clear();
    if (device_ == nullptr || original_cost_.total_us == 0) {
      return MakeError(device_ == nullptr ? Reason::kLimitBytes : Reason::kModelUnsupported,
                       "no memory is left");
    }
    report_.notes.push_back(
        absl::StrCat("memory ran out in the phase ", phase, ", so no candidate is left"));
    Log().warn("{}", report_.notes.back());
    return absl::OkStatus();
  }

  // What could only be tried at the price of the whole process is not tried. Alternatives are left
  // out first.
  absl::Status CheckFits() {
    absl::Status status;
    for (alternatives_ = SearchSettings().alternatives; alternatives_ > 0; --alternatives_) {
      const int executables = 1 + MostCandidates(alternatives_);  // and the original
      status = optimize::CheckFits(original_.cut.graph, options_.verify_inputs, executables);
      if (status.ok()) break;
    }
    return status;
  }

  // The device comes first: that it is not there is known before anything is done for it.
  absl::Status Read() {
    QUOTIENT_ASSIGN_OR_RETURN(device_, environment_.devices->Get(options_.device, threads_,
                                                                 environment_.device_snapshot));
    QUOTIENT_ASSIGN_OR_RETURN(original_, Prepare(files_, options_, threads_, stop_));
    QUOTIENT_RETURN_IF_ERROR(CheckFits());
    report_.notes = NotesOnReading(original_, options_);
    report_.cut_nodes = original_.cut.cut_nodes;
    return absl::OkStatus();
  }

  absl::Status Baseline() {
    QUOTIENT_ASSIGN_OR_RETURN(original_cost_,
                              cost::PredictGraph(original_.cut.graph, costs(), stop_));
    if (device_->snapshot() != nullptr) {
      AddNotes(NotesOnSnapshot(CountKernels(original_cost_)));
      calibrated_ = cost::NewCalibratedCostModel(&costs(), original_cost_);
      QUOTIENT_ASSIGN_OR_RETURN(original_cost_,
                                cost::PredictGraph(original_.cut.graph, costs(), stop_));
    }
    progress_.original_cost_us = original_cost_.total_us;
    return absl::OkStatus();
  }

  cost::CostModel& costs() const { return calibrated_ ? *calibrated_ : device_->costs(); }

  SearchSettings SettingsToSearch() const {
    SearchSettings settings;
    settings.threads = threads_;
    settings.max_opset = MaxOpset();
    settings.alternatives = alternatives_;
    settings.constant_footprint_log2 =
        kernels::ConstantFootprintLog2(original_.cut.graph, costs().partition().storage);
    settings.families = families_;
    settings.checkpoint = environment_.checkpoint;
    settings.checkpoint_context = absl::StrCat(EngineVersion(), "\n", options_.CanonicalText());
    return settings;
  }

  absl::Status SearchStage() {
    const auto hook = [this](const SearchProgress& now) {
      progress_.enodes = now.enodes;
      progress_.best_share = now.best_share;
      ReportProgress(std::min(1.0, now.seconds / std::max(options_.budget_seconds, 1e-3)));
    };
    absl::StatusOr<SearchResult> found = Search(original_.graph, original_.measured, options_,
                                                SettingsToSearch(), costs(), stop_, hook);
    if (found.ok()) {
      if (!found->checkpoint_refused.empty()) {
        report_.notes.push_back(absl::StrCat(
            "the search was interrupted and began anew, as its checkpoint is of no use: ",
            found->checkpoint_refused));
      }
      report_.search = std::move(found->figures);
      candidates_ = std::move(found->candidates);
    } else if (found.status().code() == absl::StatusCode::kInternal) {
      report_.search.strategy = options_.strategy;
      report_.search.stop_reason = "failed";
      NoteFailure("the search failed", found.status());
    } else {
      return found.status();
    }
    return absl::OkStatus();
  }

  void AddNotes(std::vector<std::string> notes) {
    std::ranges::move(notes, std::back_inserter(report_.notes));
  }

  // What goes wrong here must not cost the user the answer that is safe: the original. It must not
  // go unseen either.
  void NoteFailure(absl::string_view what, const absl::Status& status) {
    Log().error("{}: {}", std::string(what), Escaped(status.message()));
    report_.notes.push_back(absl::StrCat(what, " (please report this model): ", status.message()));
  }

  PackageSettings SettingsToPackage() const {
    return {.max_opset = MaxOpset(),
            .external_location = environment_.external_location,
            .bind_types = !options_.shapes.empty(),
            .threads = threads_};
  }

  absl::Status PackageStage() {
    for (Candidate& candidate : candidates_) {
      absl::StatusOr<Packaged> packaged =
          Package(original_, std::move(candidate), SettingsToPackage(), costs(), stop_);
      if (stop_.cancelled()) return MakeError(Reason::kCancelled, "the job was cancelled");
      if (packaged.ok()) {
        packaged_.push_back(*std::move(packaged));
      } else {
        NoteFailure("a candidate could not be written", packaged.status());
        ++refused_;
      }
    }
    candidates_.clear();
    return absl::OkStatus();
  }

  absl::Status Verify() {
    if (packaged_.empty() && refused_ == 0) return absl::OkStatus();
    as_read_ = AsRead(original_, options_.shapes);
    absl::StatusOr<verify::Checker> checker = verify::Checker::Create(
        {&as_read_, &original_.cut}, original_.shapes.shapes,
        {options_.verify_inputs, options_.seed, threads_, options_.assume_finite_inputs}, stop_);
    if (!checker.ok()) {
      packaged_.clear();
      return CouldNotCheck(checker.status());
    }
    checker_ = *std::move(checker);
    std::vector<std::string> failures;
    const absl::Status checked = KeepVerified(*checker_, stop_, &packaged_, &failures);
    if (!checked.ok()) QUOTIENT_RETURN_IF_ERROR(CouldNotCheck(checked));
    for (const std::string& failure : failures) {
      NoteFailure("a candidate did not agree with the original and was thrown away",
                  absl::InternalError(failure));
      ++refused_;
    }
    if (refused_ > 0 && !stop_.ShouldStop()) DeliverTheRest();
    return stop_.cancelled() ? MakeError(Reason::kCancelled, "the job was cancelled")
                             : absl::OkStatus();
  }

  // That time is up says nothing about the model.
  absl::Status CouldNotCheck(const absl::Status& why) {
    if (stop_.cancelled()) return MakeError(Reason::kCancelled, "the job was cancelled");
    if (stop_.ShouldStop()) {
      report_.notes.push_back("time was up before all candidates were checked");
    } else {
      NoteFailure(
          "no candidate could be checked, as the original cannot be evaluated on random "
          "inputs so that they could be compared",
          why);
    }
    return absl::OkStatus();
  }

  // One wrong rule must not cost what the others gained.
  void DeliverTheRest() {
    const SearchSettings search = SettingsToSearch();
    const PackageSettings package = SettingsToPackage();
    absl::StatusOr<Rescued> rescued =
        Rescue({original_, options_, search, package, *checker_, costs()},
               AppliedRules(report_.search), stop_);
    if (!rescued.ok()) return NoteFailure("no wrong rule could be found", rescued.status());
    for (const std::string& rule : rescued->culprits) {
      Log().error("the rule {} is wrong for this model", rule);
      report_.notes.push_back(
          absl::StrCat("the rule '", rule,
                       "' was left out: with it, what was found did not agree with the original"));
    }
    for (Packaged& candidate : rescued->candidates) AddIfNew(std::move(candidate));
  }

  // No more than memory was found to hold.
  void AddIfNew(Packaged candidate) {
    const bool known = std::ranges::any_of(packaged_, [&](const Packaged& other) {
      return other.files->model == candidate.files->model;
    });
    const bool fits = packaged_.size() < static_cast<size_t>(MostCandidates(alternatives_));
    if (!known && fits) packaged_.push_back(std::move(candidate));
  }

  // At once, and no stage: nothing can be run.
  void DecideByCosts() {
    decision_ = DecideByModel(original_cost_, packaged_);
    if (decision_.by_estimates && device_->snapshot() != nullptr) {
      report_.notes.push_back(
          "nothing gains by kernels that were measured: the predicted gain rests on estimates of "
          "kernels that are not in the snapshot, and may not be there");
    }
  }

  // A short search does not want to be measured for long, but a few seconds it takes.
  MeasureOptions MeasuringOptions() const {
    constexpr double kLeastSeconds = 10;
    MeasureOptions measuring{.threads = threads_};
    measuring.seconds =
        std::min(measuring.seconds, std::max(kLeastSeconds, options_.budget_seconds));
    const std::optional<kernels::cuda::CudaDevice> gpu =
        kernels::cuda::ParseCudaDevice(options_.device);
    if (gpu.has_value()) {
      measuring.arithmetic = gpu->policy == kernels::cuda::MathPolicy::kTf32
                                 ? verify::DeviceArithmetic::kTf32
                                 : verify::DeviceArithmetic::kFloat32;
    }
    return measuring;
  }

  absl::Status Measure() {
    const verify::Reference* const reference =
        checker_.has_value() ? &checker_->measured() : nullptr;
    const std::vector<model::Tensor> inputs =
        reference != nullptr ? reference->inputs(0)
                             : verify::RandomInputs(original_.cut.graph, options_.seed);
    std::vector<std::string> failures;
    absl::StatusOr<Decision> decision =
        DecideByRunning(original_, inputs, reference, *device_->backend(), device_->plans(),
                        MeasuringOptions(), stop_, &packaged_, &failures);
    if (stop_.cancelled()) return MakeError(Reason::kCancelled, "the job was cancelled");
    for (const std::string& failure : failures) {
      NoteFailure("a candidate could not be run and was thrown away", absl::InternalError(failure));
    }
    if (decision.ok()) {
      decision_ = *std::move(decision);
      if (decision_.disturbed) {
        report_.notes.push_back(
            "other work on this machine interrupted most runs: the times say less than usual");
      }
    } else {
      NoteFailure("nothing could be measured, so the original stays", decision.status());
    }
    return absl::OkStatus();
  }

  // No Stage: what was found is told even when time is up.
  absl::StatusOr<Result> Finish() {
    const int64_t start = clock_.NowNs();
    Result result;
    report_.model_name = files_.name;
    report_.engine_version = std::string(EngineVersion());
    report_.device = options_.device;
    report_.fingerprint = costs().fingerprint();
    report_.measured = costs().measures();
    report_.threads = costs().partition().threads;
    if (const timing::Snapshot* const snapshot = device_->snapshot()) {
      report_.recorded = {snapshot->device, timing::RecordedTime(*snapshot), snapshot->engine};
    }
    report_.original = FiguresOf(original_.model, original_cost_, decision_.original);
    if (decision_.winner.has_value()) {
      TakeWinner(packaged_[*decision_.winner], &result);
    } else {
      KeepOriginal(&result);
    }
    report_.predicted_speedup_percent =
        GainPercent(report_.original.predicted_us, report_.optimized.predicted_us);
    report_.speedup_percent =
        GainPercent(report_.original.measured.median_us, report_.optimized.measured.median_us);
    AddNotes(NotesOnObjections(original_.model, decision_.winner.has_value()
                                                    ? &packaged_[*decision_.winner].prepared.model
                                                    : nullptr));
    report_.phase_seconds["report"] = clock_.SecondsSince(start);
    result.report = std::move(report_);
    return result;
  }

  void TakeWinner(Packaged& winner, Result* result) {
    report_.outcome = report::Outcome::kImproved;
    report_.optimized = FiguresOf(winner.prepared.model, winner.cost, winner.measured);
    report_.verification = {winner.verdict.passed, winner.verdict.max_relative_error,
                            winner.verdict.tolerance, winner.verdict.inputs};
    for (const verify::CheckedBinding& binding : checker_->bindings()) {
      report_.verification.bindings.push_back({binding.shapes, binding.nodes, binding.cut});
    }
    report_.verification.bindings_note = checker_->note();
    if (!winner.verdict.never_finite.empty()) {
      report_.notes.push_back(absl::StrCat(
          absl::StrJoin(winner.verdict.never_finite, ", "),
          ": NaN or infinite throughout, on all inputs that were tried, so only where these stand "
          "was compared"));
    }
    report_.speedup_interval = decision_.gain;
    report_.journal = std::move(winner.journal);
    report::DescribeNodes({original_.cut.graph, original_cost_},
                          {winner.prepared.cut.graph, winner.cost}, &report_);
    result->files = std::move(*winner.files);
  }

  // Byte for byte what came in; the files of its external data are the caller's already.
  void KeepOriginal(Result* result) {
    report_.outcome = report::Outcome::kNoImprovement;
    if (!options_.shapes.empty()) {
      report_.notes.push_back(
          "the model came back as it was, so the shapes that were asked for are not written in it");
    }
    if (original_.model.frozen_initializers > 0) {
      report_.notes.push_back(
          "the model came back as it was, so its initializers are still inputs");
    }
    result->files.model = std::string(files_.model);
    if (passed_through()) return;
    report_.optimized = report_.original;
    report_.verification = {true, 0, verify::Tolerance(original_.cut.graph), 0};
    report::DescribeNodes({original_.cut.graph, original_cost_},
                          {original_.cut.graph, original_cost_}, &report_);
  }

  int MaxOpset() const {
    constexpr int kRaisedByDefault = 20;
    const int wanted = options_.max_opset > 0 ? options_.max_opset
                                              : std::max(original_.model.opset, kRaisedByDefault);
    return onnx::HighestOpset(original_.model, wanted);
  }

  void ReportProgress(double fraction) {
    if (sink_ == nullptr) return;
    progress_.fraction = fraction;
    progress_.elapsed_seconds = clock_.SecondsSince(start_ns_);
    sink_->Report(progress_);
  }

  const std::span<const rules::Family> families_;
  const ModelFiles& files_;
  const Options& options_;
  const Environment& environment_;
  const StopCondition& stop_;
  ProgressSink* const sink_;
  const int threads_;
  const Clock& clock_ = Clock::System();
  const int64_t start_ns_ = clock_.NowNs();
  Progress progress_;

  Prepared original_;
  int alternatives_ = 1;  // as many as memory can hold
  std::shared_ptr<Device> device_;
  // Of a recorded device: with the prior as far off as the original's kernels say. Else null.
  std::unique_ptr<cost::CostModel> calibrated_;
  cost::GraphCost original_cost_;
  std::vector<Candidate> candidates_;
  std::vector<Packaged> packaged_;
  int refused_ = 0;       // candidates that could not be written, or do not agree with the original
  model::Graph as_read_;  // what checker_ borrows
  std::optional<verify::Checker> checker_;
  Decision decision_;
  report::Report report_;
};

}  // namespace

absl::StatusOr<Result> Optimize(const ModelFiles& files, const Options& options,
                                const Environment& environment, const StopCondition& stop,
                                ProgressSink* progress) {
  return OptimizeByRules(rules::AllFamilies(), files, options, environment, stop, progress);
}

absl::StatusOr<Result> OptimizeByRules(std::span<const rules::Family> families,
                                       const ModelFiles& files, const Options& options,
                                       const Environment& environment, const StopCondition& stop,
                                       ProgressSink* progress) {
  return Run(families, files, options, environment, stop, progress).Execute();
}

}  // namespace quotient::optimize
