#include "core/optimize/race.h"

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/optimize/footprint.h"
#include "core/optimize/memory.h"
#include "core/optimize/same_kernels.h"
#include "core/optimize/variations.h"
#include "core/report/decision_text.h"
#include "core/verify/random_inputs.h"

namespace quotient::optimize {
namespace {

// The share of the time for running graphs that the first race gets. The rest is for variants.
constexpr double kShareOfFirstRace = 0.6;

class Racer {
 public:
  Racer(const Job& job, const Baseline& baseline, const std::shared_ptr<OriginalChecker>& checker,
        RaceResult* result)
      : job_(job), baseline_(baseline), checker_(checker), result_(*result) {}

  absl::StatusOr<Decision> Run(std::vector<Verified> candidates, Variants* variants,
                               double seconds_per_candidate) {
    const bool has_variants = variants != nullptr && !candidates.empty();
    const double seconds = job_.budget.ForMeasuring();
    QUOTIENT_ASSIGN_OR_RETURN(
        Decision decision,
        RunAgainstOriginal(std::move(candidates),
                           has_variants ? kShareOfFirstRace * seconds : seconds));
    if (has_variants) RunVariants(*variants, seconds_per_candidate, &decision);
    return decision;
  }

 private:
  const verify::Reference* reference() const {
    return checker_ != nullptr ? &checker_->checker.measured() : nullptr;
  }

  std::vector<model::Tensor> Inputs() const {
    if (reference() != nullptr) return reference()->inputs(0);
    return verify::RandomInputs(baseline_.original.prepared.cut.graph, job_.options.seed);
  }

  // MeasureContext::one_thread
  std::function<absl::StatusOr<std::shared_ptr<Device>>()> OneThread(const Device& device) const {
    if (!device.has_core_per_thread()) return nullptr;
    return [this] { return job_.environment.devices->Get(job_.options.device, 1); };
  }

  absl::StatusOr<Decision> RunAgainstOriginal(std::vector<Verified> candidates, double seconds) {
    Device& device = *baseline_.original.device;
    const MeasureContext context = {.original = baseline_.original.prepared,
                                    .cost = baseline_.cost,
                                    .files = job_.files,
                                    .inputs = inputs_,
                                    .reference = reference(),
                                    .backend = *device.backend(),
                                    .lane = *device.lane(),
                                    .plans = device.plans(),
                                    .options = {.threads = device.threads(),
                                                .graphs_at_once = GraphsAtOnce(device),
                                                .seconds = seconds,
                                                .arithmetic = device.arithmetic()},
                                    .one_thread = OneThread(device)};
    return DecideByRunning(context, std::move(candidates), job_.stop, &result_.failures);
  }

  // A runtime that runs files keeps the weights of each for itself.
  size_t GraphsAtOnce(const Device& device) const {
    if (device.run_by() != RunBy::kFiles) return std::numeric_limits<size_t>::max();
    return FilesThatFit(baseline_.original.prepared.cut.graph);
  }

  void RunVariants(Variants& variants, double seconds_per_candidate, Decision* decision) {
    const PackageSettings package = SettingsToPackage(job_, baseline_);
    const VariationContext context = {
        .original = baseline_.original.prepared,
        .cost = baseline_.cost,
        .costs = baseline_.costs(),
        .package = package,
        .checker = checker_->checker,
        .budget = job_.budget,
        .stop = job_.stop,
        .threads = baseline_.original.device->threads(),
        .seconds_per_candidate = seconds_per_candidate,
        .take_same_time = [this](const Packaged& a,
                                 const Packaged& b) { return TakeSameTime(baseline_, a, b); },
        .race = [this](
                    std::vector<Verified> candidates,
                    double seconds) { return RunAgainstOriginal(std::move(candidates), seconds); },
    };
    result_.memory_ran_out = !WithinMemory(
        [&] {
          TryVariants(context, variants, decision);
          return true;
        },
        [] { return false; });
  }

  const Job& job_;
  const Baseline& baseline_;
  const std::shared_ptr<OriginalChecker> checker_;  // Null if nothing was compared.
  const std::vector<model::Tensor> inputs_ = Inputs();
  RaceResult& result_;
};

}  // namespace

RaceResult Race(const Job& job, const Baseline& baseline, VerifiedCandidates verified) {
  RaceResult result;
  result.decision = Racer(job, baseline, verified.checker, &result)
                        .Run(std::move(verified.agreeing), verified.variants.get(),
                             verified.seconds_per_candidate);
  // Logged as it is reported: candidates are numbered over all races, and a variant's race may
  // overrule the first one.
  if (result.decision.ok()) {
    for (const std::string& line : report::DecisionLines(result.decision->considered)) {
      Log().info("{}", line);
    }
  }
  return result;
}

}  // namespace quotient::optimize
