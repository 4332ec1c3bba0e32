// The path of a model, stage by stage. Read this first.
//
//   read      Job                 -> Original            baseline.h
//   baseline  Original            -> Baseline            baseline.h
//   search    Baseline            -> Candidates          candidates.h
//   package   Candidates          -> PackagedCandidates  package.h
//   verify    PackagedCandidates  -> VerifiedCandidates  verified.h, rescue.h
//   measure   VerifiedCandidates  -> Decision            decide.h, variations.h
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
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/baseline.h"
#include "core/optimize/candidates.h"
#include "core/optimize/decide.h"
#include "core/optimize/devices.h"
#include "core/optimize/finish.h"
#include "core/optimize/job.h"
#include "core/optimize/memory.h"
#include "core/optimize/notes.h"
#include "core/optimize/optimize_internal.h"
#include "core/optimize/package.h"
#include "core/optimize/rescue.h"
#include "core/optimize/run_record.h"
#include "core/optimize/same_kernels.h"
#include "core/optimize/variations.h"
#include "core/optimize/verified.h"
#include "core/verify/random_inputs.h"

namespace quotient::optimize {
namespace {

// The share of the time for running graphs that the first race gets. The rest is for variants.
constexpr double kShareOfFirstRace = 0.6;

// Whether a model with this error is harmless. Such a model is not refused, because other programs
// may well be able to run it.
bool IsHarmless(const absl::Status& status) {
  const Reason reason = GetReason(status).value_or(Reason::kInternal);
  return reason == Reason::kModelShape || reason == Reason::kShapeMissing ||
         reason == Reason::kModelUnsupported || reason == Reason::kOpsetUnknown;
}

class Run {
 public:
  Run(const Job& job, ProgressSink* sink) : job_(job), record_(job, sink) {}

  absl::StatusOr<Result> Execute() {
    QUOTIENT_ASSIGN_OR_RETURN(const Original original,
                              record_.Phase("read", [&] { return Read(); }));
    if (!original.usable.ok()) return Untouched(original.usable, original, {});
    Device& device = *original.device;

    const absl::StatusOr<Baseline> baseline =
        Stage("baseline", device, [&] { return Predict(original); });
    if (!baseline.ok()) return Untouched(baseline.status(), original, {});

    absl::StatusOr<Candidates> candidates =
        Stage("search", device, [&] { return Search(*baseline); });
    if (!candidates.ok()) return Untouched(candidates.status(), original, baseline->cost);

    QUOTIENT_ASSIGN_OR_RETURN(PackagedCandidates packaged, Stage("package", device, [&] {
                                return Package(*baseline, *std::move(candidates));
                              }));
    QUOTIENT_ASSIGN_OR_RETURN(VerifiedCandidates verified, Stage("verify", device, [&] {
                                return Verify(*baseline, std::move(packaged));
                              }));
    const std::shared_ptr<const OriginalChecker> checker = verified.checker;

    QUOTIENT_ASSIGN_OR_RETURN(Decision decision, Decide(*baseline, std::move(verified)));
    std::optional<Delivery> delivery = Deliver(*baseline, decision);
    return Finish(job_, *baseline, checker.get(), std::move(decision), std::move(delivery),
                  record_.TakeReport());
  }

 private:
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
  absl::StatusOr<Result> Untouched(const absl::Status& why, const Original& original,
                                   const cost::GraphCost& cost) {
    if (!IsHarmless(why)) return why;
    record_.report().passed_through = std::string(ReasonName(*GetReason(why)));
    record_.Note(absl::StrCat("the model came back untouched, nothing was tried (",
                              record_.report().passed_through, "): ", why.message()));
    return FinishUntouched(job_, original, cost, record_.TakeReport());
  }

  absl::StatusOr<Original> Read() {
    QUOTIENT_ASSIGN_OR_RETURN(Original original, ReadOriginal(job_));
    QUOTIENT_RETURN_IF_ERROR(original.device->health());
    if (!original.usable.ok()) {
      record_.Note(original.prepared.stale_declarations);
      return original;
    }
    record_.Note(NotesOnReading(original, job_.options));
    record_.report().cut_nodes = original.prepared.cut.cut_nodes;
    return original;
  }

  absl::StatusOr<Baseline> Predict(const Original& original) {
    QUOTIENT_ASSIGN_OR_RETURN(Baseline baseline,
                              PredictBaseline(original, job_.files, job_.options.seed,
                                              job_.budget.ForBaseline(job_.stop)));
    record_.Note(baseline.notes);
    record_.TellOriginalCost(baseline.cost.total_us);
    return baseline;
  }

  absl::StatusOr<Candidates> Search(const Baseline& baseline) {
    return OrNone("search", [&]() -> absl::StatusOr<Candidates> {
      absl::StatusOr<Candidates> candidates = Found(baseline);
      if (candidates.ok()) {
        if (!candidates->checkpoint_refused.empty()) {
          record_.Note(absl::StrCat(
              "the search was interrupted and began anew, as its checkpoint is of no use: ",
              candidates->checkpoint_refused));
        }
        record_.report().search = candidates->figures;
        return candidates;
      }
      if (candidates.status().code() != absl::StatusCode::kInternal) return candidates;
      record_.report().search.strategy = job_.options.strategy;
      record_.report().search.stop_reason = "failed";
      record_.NoteFailure("the search failed", candidates.status());
      return Candidates();
    });
  }

  absl::StatusOr<Candidates> Found(const Baseline& baseline) {
    const SearchSettings settings = SettingsToSearch(job_, baseline);
    const double seconds = std::max(settings.time.seconds, 1e-3);
    const auto hook = [this, seconds](const SearchProgress& now) {
      record_.TellSearch(std::min(1.0, now.seconds / seconds), now.best_share, now.enodes);
    };
    const Prepared& prepared = baseline.original.prepared;
    return optimize::Search(prepared.graph, prepared.measured, job_.options, settings,
                            baseline.costs(), job_.stop, hook);
  }

  absl::StatusOr<PackagedCandidates> Package(const Baseline& baseline, Candidates candidates) {
    PackagedCandidates packaged{.variants = std::move(candidates.variants)};
    QUOTIENT_ASSIGN_OR_RETURN(
        packaged.written, OrNone("package", [&]() -> absl::StatusOr<std::vector<Packaged>> {
          packaged.applied = AppliedRules(candidates.figures);
          std::vector<Packaged> written;
          for (size_t i = 0; i < candidates.found.size(); ++i) {
            absl::StatusOr<Packaged> one =
                optimize::Package(baseline.original.prepared, std::move(candidates.found[i]),
                                  SettingsToPackage(job_, baseline), baseline.costs(),
                                  job_.budget.ForChecks(job_.stop));
            if (job_.stop.cancelled()) return Cancelled();
            if (one.ok()) {
              one->found = i;
              const bool is_other = !EqualKernelsMeanEqualTimes(baseline) ||
                                    !HaveSameKernels(KernelsOf(*one), KernelsOf(baseline));
              if (is_other) written.push_back(*std::move(one));
            } else {
              record_.NoteFailure("a candidate could not be written", one.status());
              ++packaged.refused;
            }
          }
          return written;
        }));
    return packaged;
  }

  // A backend that runs files optimizes them by itself, so there only equal kernels of its own
  // mean equal times.
  static bool EqualKernelsMeanEqualTimes(const Baseline& baseline) {
    return !baseline.original.runs_files() || baseline.file_costs.has_value();
  }

  static Costed KernelsOf(const Packaged& candidate) {
    return {candidate.prepared.cut.graph, candidate.cost};
  }
  static Costed KernelsOf(const Baseline& baseline) {
    return {baseline.original.prepared.cut.graph, baseline.cost};
  }

  // Whether a candidate takes the same time as one that agrees with the original. If one with the
  // same kernels was refused, it is tried in its place.
  static bool IsNeedless(const Packaged& candidate, const std::vector<Verified>& agreeing) {
    return std::ranges::any_of(agreeing, [&](const Verified& other) {
      return HaveSameKernels(KernelsOf(candidate), KernelsOf(other.packaged));
    });
  }

  absl::StatusOr<VerifiedCandidates> Verify(const Baseline& baseline, PackagedCandidates packaged) {
    VerifiedCandidates verified{.variants = std::move(packaged.variants)};
    const auto verify = [&]() -> absl::StatusOr<std::vector<Verified>> {
      if (baseline.original.device->backend() == nullptr) {
        // Predictions decide here. A candidate that gains nothing by them would never be taken,
        // and checking one takes longer than all other stages together.
        std::erase_if(packaged.written, [&](const Packaged& candidate) {
          return !GainsByModel(baseline.cost, candidate.cost);
        });
      }
      if (packaged.written.empty() && packaged.refused == 0) return std::vector<Verified>();
      auto checker = NewOriginalChecker(job_, baseline.original);
      if (!checker.ok()) {
        QUOTIENT_RETURN_IF_ERROR(CouldNotCheck(checker.status()));
        return std::vector<Verified>();
      }
      verified.checker = *checker;
      return Agreeing(baseline, std::move(packaged), (*checker)->checker);
    };
    QUOTIENT_ASSIGN_OR_RETURN(verified.agreeing, OrNone("verify", verify));
    return verified;
  }

  absl::StatusOr<std::vector<Verified>> Agreeing(const Baseline& baseline,
                                                 PackagedCandidates packaged,
                                                 verify::Checker& checker) {
    // Where candidates are run, only the few that will be run need to be checked.
    const bool runs = baseline.original.device->backend() != nullptr;
    const auto fits = static_cast<size_t>(MostCandidates(baseline.original.alternatives));
    const size_t most =
        runs ? std::min(fits, MostChallengers(baseline.cost, job_.budget.ForMeasuring())) : fits;
    if (most < packaged.written.size()) {
      std::ranges::stable_sort(packaged.written, {},
                               [](const Packaged& each) { return each.cost.total_us; });
    }
    Compared compared =
        Compare(checker, std::move(packaged.written), most,
                runs ? job_.budget.ForChecks(job_.stop) : job_.stop, job_.stop,
                EqualKernelsMeanEqualTimes(baseline) ? optimize::IsNeedless(IsNeedless)
                                                     : optimize::IsNeedless());
    if (!compared.stopped.ok()) QUOTIENT_RETURN_IF_ERROR(CouldNotCheck(compared.stopped));
    Refusals refusals = {std::move(compared.refused), std::move(packaged.applied)};
    if (!refusals.refused.empty() || packaged.refused > 0) {
      AddNew(WhatTheRestGains(baseline, checker, std::move(refusals)), most, &compared.agreeing);
    }
    if (job_.stop.cancelled()) return Cancelled();
    return std::move(compared.agreeing);
  }

  // Notes why candidates were not checked. Fails if the job was cancelled. That time is up is not
  // reported as a failure, because it says nothing about the model.
  absl::Status CouldNotCheck(const absl::Status& why) {
    if (job_.stop.cancelled()) return Cancelled();
    if (job_.stop.ShouldStop()) {
      record_.Note("time was up before all candidates were checked");
    } else {
      record_.NoteFailure(
          "no candidate could be checked, as the original cannot be evaluated on random inputs so "
          "that outputs could be compared",
          why);
    }
    return absl::OkStatus();
  }

  // Searches again without the rules that are to blame for refused candidates, so that one wrong
  // rule does not cost what the others gain.
  std::vector<Verified> WhatTheRestGains(const Baseline& baseline, verify::Checker& checker,
                                         Refusals refusals) {
    const SearchSettings search = SettingsToSearch(job_, baseline);
    const PackageSettings package = SettingsToPackage(job_, baseline);
    const StopCondition stop = job_.budget.ForRescue(job_.stop);
    Rescued rescued = Rescue({job_.files, baseline.original.prepared, job_.options, search, package,
                              checker, baseline.costs()},
                             std::move(refusals), stop);
    if (rescued.names_are_forgotten) {
      record_.Note(
          "the model uses the size of one input for another, so dimensions of one name were not "
          "taken to be equal");
    }
    for (const Refused& refused : rescued.refused) record_.NoteRefused(refused);
    for (const std::string& rule : rescued.culprits) {
      Log().warn("the rule {} was left out for this model", rule);
      record_.Note(
          absl::StrCat("the rule '", rule,
                       "' was left out: with it, what was found did not agree with the original"));
    }
    if (stop.ShouldStop()) {
      record_.Note("time was up before all wrong rules were found");
    } else if (!rescued.ended.ok()) {
      record_.NoteFailure("no wrong rule could be found", rescued.ended);
    }
    return std::move(rescued.candidates);
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
      std::vector<std::string> failures;
      absl::StatusOr<Decision> decision =
          RaceWithVariants(baseline, std::move(verified), &failures);
      if (job_.stop.cancelled()) return Cancelled();
      for (const std::string& failure : failures) {
        record_.NoteFailure("a candidate could not be run and was thrown away",
                            absl::InternalError(failure));
      }
      if (!decision.ok()) {
        record_.NoteFailure("nothing could be measured, so the original stays", decision.status());
        return Decision();
      }
      if (decision->disturbed) {
        record_.Note(
            "other work on this machine interrupted most runs: the times say less than usual");
      }
      return decision;
    });
  }

  absl::StatusOr<Decision> RaceWithVariants(const Baseline& baseline, VerifiedCandidates verified,
                                            std::vector<std::string>* failures) {
    const Prepared& prepared = baseline.original.prepared;
    const verify::Reference* const reference =
        verified.checker != nullptr ? &verified.checker->checker.measured() : nullptr;
    const std::vector<model::Tensor> inputs =
        reference != nullptr ? reference->inputs(0)
                             : verify::RandomInputs(prepared.cut.graph, job_.options.seed);
    const auto race = [&](std::vector<Verified> candidates, double seconds) {
      return Race(baseline, reference, inputs, std::move(candidates), seconds, failures);
    };
    const bool has_variants = verified.variants != nullptr && !verified.agreeing.empty();
    const auto count = static_cast<double>(std::max<size_t>(verified.agreeing.size(), 1));
    const double seconds = job_.budget.ForMeasuring();
    QUOTIENT_ASSIGN_OR_RETURN(
        Decision decision,
        race(std::move(verified.agreeing), has_variants ? kShareOfFirstRace * seconds : seconds));
    if (!has_variants) return decision;
    const PackageSettings package = SettingsToPackage(job_, baseline);
    const auto& phases = record_.report().phase_seconds;
    const VariationContext context = {
        .original = prepared,
        .cost = baseline.cost,
        .costs = baseline.costs(),
        .package = package,
        .checker = verified.checker->checker,
        .budget = job_.budget,
        .stop = job_.stop,
        .seconds_per_candidate = (phases.at("package") + phases.at("verify")) / count,
        .take_same_time =
            [&](const Packaged& a, const Packaged& b) {
              return EqualKernelsMeanEqualTimes(baseline) &&
                     HaveSameKernels(KernelsOf(a), KernelsOf(b));
            },
        .race = race};
    // What was decided before stands even if there is no memory for more.
    const bool had_memory = WithinMemory(
        [&] {
          TryVariants(context, *verified.variants, &decision);
          return true;
        },
        [] { return false; });
    if (!had_memory) record_.Note("memory ran out while variants were tried");
    return decision;
  }

  absl::StatusOr<Decision> Race(const Baseline& baseline, const verify::Reference* reference,
                                const std::vector<model::Tensor>& inputs,
                                std::vector<Verified> candidates, double seconds,
                                std::vector<std::string>* failures) {
    Device& device = *baseline.original.device;
    const MeasureContext context = {
        .original = baseline.original.prepared,
        .cost = baseline.cost,
        .files = job_.files,
        .inputs = inputs,
        .reference = reference,
        .backend = *device.backend(),
        .lane = *device.lane(),
        .plans = device.plans(),
        .options = {
            .threads = job_.threads, .seconds = seconds, .arithmetic = device.arithmetic()}};
    return DecideByRunning(context, std::move(candidates), job_.stop, failures);
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

  const Job& job_;
  RunRecord record_;
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
  const Job job = {.families = families,
                   .files = files,
                   .options = resolved,
                   .environment = environment,
                   .stop = stop,
                   .budget = Budget(resolved, environment.clock),
                   .threads = threads};
  return Run(job, progress).Execute();
}

}  // namespace quotient::optimize
