#include "core/optimize/rescue.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/eval/stop_error.h"
#include "core/optimize/culprit.h"
#include "core/optimize/search_candidates.h"

namespace quotient::optimize {
namespace {

// Enough to find two culprits among 60 rules, about as many as are applied to a large network.
constexpr int kMostTrials = 16;
// Shares of the time of the first search. A trial has few rules and mostly ends soon, so this is a
// bound for rules that grow the e-graph without end. The search that may deliver the result gets
// more.
constexpr double kTrialShare = 0.05;
constexpr double kSearchShare = 0.5;

// The graphs that some of the rules lead to, checked.
struct Found {
  std::vector<Verified> agreeing;
  bool all_agree = false;
  std::vector<std::string> applied;
};

class Rescuer {
 public:
  Rescuer(const Job& job, const Baseline& baseline, verify::Checker& checker,
          const StopCondition& stop)
      : job_(job), baseline_(baseline), checker_(checker), stop_(stop) {}

  Rescued Run(Refusals refusals) {
    rescued_.refused = std::move(refusals.refused);
    rescued_.ended = FindAndLeaveOut(std::move(refusals.applied));
    rescued_.time_was_up = stop_.ShouldStop();
    return std::move(rescued_);
  }

 private:
  // Finds what makes graphs differ from the original, names of dims or rules, and searches without.
  absl::Status FindAndLeaveOut(std::vector<std::string> applied) {
    QUOTIENT_ASSIGN_OR_RETURN(const verify::Verdict verdict, CheckUnrewritten());
    if (!verdict.passed) {
      QUOTIENT_RETURN_IF_ERROR(ForgetNames());
      QUOTIENT_ASSIGN_OR_RETURN(Found found, FindAndCheck({}, kSearchShare));
      rescued_.candidates = std::move(found.agreeing);
      if (found.all_agree) return absl::OkStatus();
      applied = std::move(found.applied);
    }
    return LeaveOutWrongRules(std::move(applied));
  }

  absl::StatusOr<verify::Verdict> CheckUnrewritten() const {
    QUOTIENT_ASSIGN_OR_RETURN(Candidate unrewritten,
                              Unrewritten(original_->graph, original_->measured,
                                          job_.options.Folding(job_.threads), stop_));
    QUOTIENT_ASSIGN_OR_RETURN(
        const Packaged packaged,
        Package(*original_, std::move(unrewritten), package_, baseline_.costs(), {stop_, stop_}));
    return checker_.Check({&packaged.prepared.model.graph, &packaged.prepared.cut}, stop_);
  }

  absl::Status ForgetNames() {
    Options options = job_.options;
    options.measure_shapes = baseline_.original.prepared.shapes.shapes;
    QUOTIENT_ASSIGN_OR_RETURN(
        Prepared without_names,
        Prepare(job_.files, options, job_.threads, stop_, {.names = InputNames::kForgotten}));
    without_names_ = std::make_shared<Prepared>(std::move(without_names));
    original_ = without_names_.get();
    package_.written_from = without_names_;
    QUOTIENT_ASSIGN_OR_RETURN(const verify::Verdict verdict, CheckUnrewritten());
    if (!verdict.passed) {
      return absl::InternalError(
          absl::StrCat("the model differs even if nothing is rewritten: ", verdict.failure));
    }
    rescued_.names_are_forgotten = true;
    rescued_.refused.clear();
    return absl::OkStatus();
  }

  absl::Status LeaveOutWrongRules(std::vector<std::string> applied) {
    int trials_left = kMostTrials;
    for (bool all_agree = false; !all_agree;) {
      QUOTIENT_ASSIGN_OR_RETURN(
          std::optional<std::string> culprit,
          FindCulprit(
              applied, [this](const auto& rules) { return AllAgree(rules); }, &trials_left));
      if (!culprit.has_value()) break;
      rescued_.culprits.push_back(*std::move(culprit));
      QUOTIENT_ASSIGN_OR_RETURN(Found found, FindAndCheck(rescued_.culprits, kSearchShare));
      // This replaces what was found while rules were applied that proved to be wrong.
      rescued_.candidates = std::move(found.agreeing);
      applied = std::move(found.applied);
      all_agree = found.all_agree;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<bool> AllAgree(const std::vector<std::string>& rules) const {
    std::vector<std::string> others;
    std::ranges::copy_if(table_, std::back_inserter(others), [&](const std::string& name) {
      return std::ranges::find(rules, name) == rules.end();
    });
    QUOTIENT_ASSIGN_OR_RETURN(const Found found, FindAndCheck(others, kTrialShare));
    return found.all_agree;
  }

  absl::StatusOr<Found> FindAndCheck(const std::vector<std::string>& disabled, double share) const {
    Options options = job_.options;
    options.disabled_rules.insert(options.disabled_rules.end(), disabled.begin(), disabled.end());
    SearchSettings settings = search_;
    settings.checkpoint = nullptr;
    settings.time->grow_seconds *= share;
    settings.time->seconds *= share;
    QUOTIENT_ASSIGN_OR_RETURN(Candidates candidates,
                              Search(original_->graph, original_->measured, options, settings,
                                     baseline_.costs(), stop_, [](const SearchProgress&) {}));
    std::vector<Packaged> written;
    for (Candidate& candidate : candidates.found) {
      candidate.found.reset();  // It is not among those of the job's search.
      absl::StatusOr<Packaged> packaged =
          Package(*original_, std::move(candidate), package_, baseline_.costs(), {stop_, stop_});
      if (!packaged.ok()) continue;
      written.push_back(*std::move(packaged));
    }
    const bool all_written = written.size() == candidates.found.size();
    const size_t all = written.size();
    Compared compared = Compare(checker_, std::move(written), all, stop_, stop_);
    QUOTIENT_RETURN_IF_ERROR(compared.stopped);
    if (stop_.ShouldStop()) return eval::StopError(stop_.Check());
    return Found{.agreeing = std::move(compared.agreeing),
                 .all_agree = all_written && compared.refused.empty(),
                 .applied = candidates.AppliedRules()};
  }

  const Job& job_;
  const Baseline& baseline_;
  verify::Checker& checker_;
  const StopCondition& stop_;
  std::shared_ptr<const Prepared> without_names_;            // Null unless names are forgotten.
  const Prepared* original_ = &baseline_.original.prepared;  // What is searched.
  const SearchSettings search_ = SettingsToSearch(job_, baseline_);
  PackageSettings package_ = SettingsToPackage(job_, baseline_);
  const std::vector<std::string> table_ = rules::RuleNames(job_.families);  // All rules.
  Rescued rescued_;
};

}  // namespace

Rescued Rescue(const Job& job, const Baseline& baseline, verify::Checker& checker,
               Refusals refusals, const StopCondition& stop) {
  return Rescuer(job, baseline, checker, stop).Run(std::move(refusals));
}

}  // namespace quotient::optimize
