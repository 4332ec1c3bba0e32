// The path of a model, stage by stage. Read this first.
//
//   read      Job                 -> Original            baseline.h (or Unusable)
//   baseline  Original            -> Baseline            baseline.h
//   search    Baseline            -> Candidates          search_candidates.h
//   package   Candidates          -> PackagedCandidates  package.h
//   verify    PackagedCandidates  -> VerifiedCandidates  verify_candidates.h
//   measure   VerifiedCandidates  -> Decision            race.h, decide.h, variations.h
//
// and then, even if time is up,
//
//   deliver   Decision            -> Delivery            package.h
//   finish    Decision, Delivery  -> Result              finish.h
//
// A stage gets the value of the stage before it and returns a value of its own. From "package" on,
// the value that is passed on is moved into the next stage, so a candidate has one owner. A value
// is complete when its stage returns it: no later stage fills it in or removes anything from it.
// Besides that value, every stage may read the Job, and the stages after "baseline" the Baseline,
// which all candidates are compared with. Both stay as they are.
//
// Some failures of a stage are values and not errors, because the user still gets a valid answer:
// - A model that is harmless but cannot be optimized is returned as it came (Untouched).
// - If memory runs out in a stage after "baseline", the stage returns no candidates (OrNone). The
//   same holds for a search that fails and for a check that cannot be made. The original is then
//   the answer.
// Every other failure is an error and ends the run.
//
// The budget of the job (budget.h) says how long a stage may take, as far as it can choose.
//
// Class Run calls the stages in order and decides which failures end the run. Its RunRecord holds
// what is told to the outside: the progress and the report.

#include "core/optimize/optimize.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/baseline.h"
#include "core/optimize/candidates.h"
#include "core/optimize/decide.h"
#include "core/optimize/devices.h"
#include "core/optimize/explainer.h"
#include "core/optimize/finish.h"
#include "core/optimize/job.h"
#include "core/optimize/memory.h"
#include "core/optimize/notes.h"
#include "core/optimize/optimize_internal.h"
#include "core/optimize/package.h"
#include "core/optimize/race.h"
#include "core/optimize/result_journal.h"
#include "core/optimize/rule_statistics.h"
#include "core/optimize/run_record.h"
#include "core/optimize/search_candidates.h"
#include "core/optimize/verify_candidates.h"
#include "core/optimize/watchdog.h"
#include "core/optimize/why_not.h"
#include "core/os/files.h"
#include "core/os/memory.h"

namespace quotient::optimize {
namespace {

class Run {
 public:
  Run(const Job& job, ProgressSink* sink) : job_(job), record_(job, sink) {}

  absl::StatusOr<Result> Execute() {
    QUOTIENT_ASSIGN_OR_RETURN(const auto read, record_.Phase("read", [&] { return Read(); }));
    ReleaseMemory();
    if (const Unusable* const unusable = std::get_if<Unusable>(&read)) {
      return Untouched(unusable->model.why, *unusable->device, unusable->model.model, {});
    }
    const Original& original = std::get<Original>(read);
    Device& device = *original.device;
    const Watchdog watchdog(job_, device);
    const onnx::Model& model = original.prepared.model;

    absl::StatusOr<Baseline> baseline =
        Stage("baseline", device, [&] { return Predict(original); });
    if (!baseline.ok()) return Untouched(baseline.status(), device, model, {});

    absl::StatusOr<Candidates> candidates =
        Stage("search", device, [&] { return Search(*baseline); });
    if (!candidates.ok()) return Untouched(candidates.status(), device, model, baseline->cost);

    QUOTIENT_ASSIGN_OR_RETURN(PackagedCandidates packaged, Stage("package", device, [&] {
                                return Package(*baseline, *std::move(candidates));
                              }));
    explainer_.LookAt(*baseline, packaged);
    QUOTIENT_ASSIGN_OR_RETURN(VerifiedCandidates verified, Stage("verify", device, [&] {
                                return Verify(*baseline, std::move(packaged));
                              }));
    why_not_.LookAt(verified);
    const bool was_rescued = verified.rescued.has_value();
    const std::shared_ptr<const OriginalChecker> checker = verified.checker;

    // Kernels may have been measured since the graphs were predicted.
    cost::CostModel& costs = baseline->costs();
    const Baseline priced = AtPresent(*std::move(baseline));
    verified = AtPresent(std::move(verified), costs);
    QUOTIENT_ASSIGN_OR_RETURN(Decision decision, Decide(priced, std::move(verified)));
    // What is asked of the job from now on makes no difference to the result.
    finished_early_ = job_.budget.IsCut();
    std::optional<Delivery> delivery = Deliver(priced, decision);
    if (!delivery.has_value()) decision.winner.reset();
    Explain(priced, decision);
    absl::StatusOr<MaybeDerivation> derivation = Derive(priced, decision, delivery);
    if (job_.stop.cancelled()) return Cancelled();
    NoteFailuresOfDevice();
    Result result = Answered(Finish(job_, priced, checker.get(), std::move(decision),
                                    std::move(delivery), record_.TakeReport()),
                             absl::OkStatus());
    if (derivation.ok()) {
      result.journal = JournalText(job_.files, *std::move(derivation), result.report);
    }
    // Figures of a job that searched again are those of its first search, while the result may be
    // of another one: they do not add up.
    if (!was_rescued) KeepStatistics(job_, result.report);
    return result;
  }

 private:
  // Called after stages that read weights and evaluate graphs, because the next ones leave the
  // memory to the device.
  void ReleaseMemory() const {
    os::ReleaseMappedFiles();
    os::ReturnFreedMemory();
  }

  // Runs a stage that uses the device. If the device is lost, the stage fails with DEVICE_LOST,
  // whatever else it returned. Even "nothing was found" would not be a finding then.
  template <typename Body>
  std::invoke_result_t<Body> Stage(absl::string_view name, const Device& device, const Body& body) {
    return record_.Phase(name, [&]() -> std::invoke_result_t<Body> {
      std::invoke_result_t<Body> value = body();
      QUOTIENT_RETURN_IF_ERROR(device.health());
      return value;
    });
  }

  // Runs the part of the stage `name` that makes candidates. If memory runs out, there are none.
  // Whether a model fits into memory is checked when it is read; here memory can still run out if
  // other processes take it.
  template <typename Body>
  std::invoke_result_t<Body> OrNone(absl::string_view name, const Body& body) {
    return WithinMemory(body, [&]() -> std::invoke_result_t<Body> {
      record_.Note(absl::StrCat("memory ran out in the phase ", name, ", so no candidate is left"));
      Log().warn("{}", record_.report().notes.back());
      return typename std::invoke_result_t<Body>::value_type();
    });
  }

  // Returns the model as it came, with `why` in the report. Fails with `why` if that is not a
  // harmless error.
  absl::StatusOr<Result> Untouched(const absl::Status& why, Device& device,
                                   const onnx::Model& model, const cost::GraphCost& cost) {
    if (!IsHarmless(why)) return why;
    record_.report().passed_through = std::string(ReasonName(*GetReason(why)));
    record_.Note(absl::StrCat("the model came back untouched, nothing was tried (",
                              record_.report().passed_through, "): ", why.message()));
    NoteFailuresOfDevice();
    Result result = Answered(FinishUntouched(job_, device, model, cost, record_.TakeReport()), why);
    result.journal = JournalText(job_.files, std::nullopt, result.report);
    return result;
  }

  int64_t FailuresOfDevice() const {
    return job_.environment.devices->FailuresOf(job_.options.device) - failures_before_;
  }

  void NoteFailuresOfDevice() {
    const int64_t failures = FailuresOfDevice();
    if (failures == 0) return;
    record_.Note(absl::StrCat(
        "the process of the device crashed, hung, ran out of memory or was killed while this job "
        "ran, so ",
        failures, failures == 1 ? " thing has" : " things have",
        " no answer that it was asked for: an equal job may have a better result, so it will run "
        "anew"));
  }

  // Adds the answers to what the user asked. `why`: why there was no search, if there was none.
  Result Answered(Result result, const absl::Status& why) const {
    result.report.why_not = why_not_.Answers(result.report, why);
    result.device_failed = FailuresOfDevice() > 0;
    result.finished_early = finished_early_;
    if (result.finished_early) {
      result.report.notes.emplace_back(
          "the job was told to finish before its budget was used up: this is the best of what had "
          "been found by then");
    }
    return result;
  }

  absl::StatusOr<std::variant<Original, Unusable>> Read() {
    QUOTIENT_ASSIGN_OR_RETURN(auto read, ReadOriginal(job_));
    if (const Unusable* const unusable = std::get_if<Unusable>(&read)) {
      QUOTIENT_RETURN_IF_ERROR(unusable->device->health());
      record_.Note(unusable->model.stale_declarations);
      return read;
    }
    Original& original = std::get<Original>(read);
    QUOTIENT_RETURN_IF_ERROR(original.device->health());
    const int threads = original.device->threads();
    if (MoveToOneThread(job_, &original)) record_.Note(NotesOnOneThread(threads));
    record_.Note(NotesOnReading(original.prepared, job_.options, original.device->runs_files()));
    record_.report().cut_nodes = original.prepared.cut.cut_nodes;
    return read;
  }

  absl::StatusOr<Baseline> Predict(const Original& original) {
    QUOTIENT_ASSIGN_OR_RETURN(Baseline baseline, PredictBaseline(job_, original));
    record_.Note(baseline.notes);
    record_.SetOriginalCost(baseline.cost.total_us);
    return baseline;
  }

  absl::StatusOr<Candidates> Search(const Baseline& baseline) {
    return OrNone("search", [&]() -> absl::StatusOr<Candidates> {
      absl::StatusOr<Candidates> candidates = SearchCandidates(
          job_, baseline, why_not_, [this](double fraction, const SearchProgress& now) {
            record_.ReportSearch(fraction, now.best_share, now.enodes);
          });
      if (candidates.ok()) {
        if (!candidates->checkpoint_refused.empty()) {
          record_.Note(absl::StrCat(
              "the search was interrupted and began anew, as its checkpoint is of no use: ",
              candidates->checkpoint_refused));
        }
        record_.report().search = candidates->figures;
        record_.report().rules = candidates->rules;
        return candidates;
      }
      if (candidates.status().code() != absl::StatusCode::kInternal) return candidates;
      record_.report().search.strategy = job_.options.strategy;
      record_.report().search.stop_reason = "failed";
      record_.NoteFailure("the search failed", candidates.status());
      return Candidates();
    });
  }

  absl::StatusOr<PackagedCandidates> Package(const Baseline& baseline, Candidates candidates) {
    QUOTIENT_ASSIGN_OR_RETURN(PackagedCandidates packaged, OrNone("package", [&] {
                                return PackageCandidates(job_, baseline, std::move(candidates));
                              }));
    ReleaseMemory();
    for (const absl::Status& failure : packaged.failures) {
      record_.NoteFailure("a candidate could not be written", failure);
    }
    if (packaged.time_was_up) record_.Note("time was up before all candidates were written");
    return packaged;
  }

  absl::StatusOr<VerifiedCandidates> Verify(const Baseline& baseline, PackagedCandidates packaged) {
    QUOTIENT_ASSIGN_OR_RETURN(VerifiedCandidates verified, OrNone("verify", [&] {
                                return VerifyCandidates(job_, baseline, std::move(packaged));
                              }));
    ReleaseMemory();
    // Running out of time is not reported as a failure, because it says nothing about the model.
    if (verified.time_was_up) {
      record_.Note("time was up before all candidates were checked");
    } else if (!verified.unchecked.ok()) {
      record_.NoteFailure(
          "no candidate could be checked, as the original cannot be evaluated on random inputs so "
          "that outputs could be compared",
          verified.unchecked);
    }
    if (verified.rescued.has_value()) record_.NoteRescue(*verified.rescued);
    return verified;
  }

  // Deciding is a stage only if graphs can be run. Otherwise it takes no time.
  absl::StatusOr<Decision> Decide(const Baseline& baseline, VerifiedCandidates verified) {
    Device& device = *baseline.original.device;
    if (device.backend() != nullptr) {
      return Stage("measure", device, [&] { return Measure(baseline, std::move(verified)); });
    }
    Decision decision = DecideByModel(baseline.cost, std::move(verified.agreeing));
    if (decision.by_estimates && device.snapshot() != nullptr) {
      record_.Note(
          "nothing gains by kernels that were measured: the predicted gain rests on estimates of "
          "kernels that are not in the snapshot, and may not be there");
    }
    return decision;
  }

  absl::StatusOr<Decision> Measure(const Baseline& baseline, VerifiedCandidates verified) {
    return OrNone("measure", [&]() -> absl::StatusOr<Decision> {
      RaceResult race = Race(job_, baseline, std::move(verified));
      if (job_.stop.cancelled()) return Cancelled();
      if (race.memory_ran_out) record_.Note("memory ran out while variants were tried");
      for (const std::string& failure : race.failures) {
        record_.NoteFailure("a candidate could not be run and was thrown away",
                            absl::InternalError(failure));
      }
      if (!race.decision.ok()) {
        record_.NoteFailure("nothing could be measured, so the original stays",
                            race.decision.status());
        record_.Note(NotesOnRefusal(*baseline.original.device, race.decision.status()));
        return Decision();
      }
      record_.Note(NotesOnDisturbance(*race.decision));
      return std::move(race.decision);
    });
  }

  // Writes the files of the winner. Nullopt if there is none, or if that fails.
  std::optional<Delivery> Deliver(const Baseline& baseline, const Decision& decision) {
    if (!decision.winner.has_value()) return std::nullopt;
    const Clock& clock = job_.environment.clock;
    const int64_t start = clock.NowNs();
    absl::StatusOr<Delivery> delivery = WithinMemory(
        [&] {
          return optimize::Deliver(baseline.original.prepared, decision.winner->candidate.packaged,
                                   SettingsToPackage(job_, baseline));
        },
        [] {
          return absl::StatusOr<Delivery>(MakeError(Reason::kLimitBytes, "no memory is left"));
        });
    record_.report().phase_seconds["package"] += clock.SecondsSince(start);
    if (delivery.ok()) return *std::move(delivery);
    record_.NoteFailure("the result could not be written, so the original stays",
                        delivery.status());
    return std::nullopt;
  }

  // How the result follows from the model; nullopt if the original stays. A failure costs only the
  // journal, and is noted.
  using MaybeDerivation = std::optional<journal::Journal::Derivation>;
  absl::StatusOr<MaybeDerivation> Derive(const Baseline& baseline, const Decision& decision,
                                         const std::optional<Delivery>& delivery) {
    if (!delivery.has_value()) return std::nullopt;
    if (!job_.environment.wants_journal) return absl::NotFoundError("no journal is wanted");
    const Clock& clock = job_.environment.clock;
    const int64_t start = clock.NowNs();
    absl::StatusOr<journal::Journal::Derivation> derivation =
        DerivationOf(job_, baseline, decision.winner->candidate.packaged, delivery->files);
    record_.report().phase_seconds["journal"] = clock.SecondsSince(start);
    if (!derivation.ok()) {
      record_.NoteFailure("there is no journal of the result", derivation.status());
    }
    return derivation;
  }

  // No stage, as the report is made even if time is up.
  void Explain(const Baseline& baseline, const Decision& decision) {
    const Clock& clock = job_.environment.clock;
    const int64_t start = clock.NowNs();
    record_.report().explanation = explainer_.Explain(baseline, decision);
    if (!record_.report().explanation.has_value()) return;
    record_.report().phase_seconds["explain"] = clock.SecondsSince(start);
  }

  const Job& job_;
  RunRecord record_;
  WhyNot why_not_{job_};
  Explainer explainer_{job_};
  bool finished_early_ = false;
  const int64_t failures_before_ = job_.environment.devices->FailuresOf(job_.options.device);
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
  QUOTIENT_RETURN_IF_ERROR(options.Validate());
  const int threads = options.ThreadsToUse();
  Options resolved = options;
  QUOTIENT_ASSIGN_OR_RETURN(resolved.device, environment.devices->Resolve(options.device, threads));
  Budget budget(resolved, environment.clock, stop);
  const Job job = {.families = families,
                   .files = files,
                   .options = resolved,
                   .environment = environment,
                   .stop = stop,
                   .budget = budget,
                   .threads = threads};
  return Run(job, progress).Execute();
}

}  // namespace quotient::optimize
