#include "core/optimize/verify_candidates.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/challengers.h"

namespace quotient::optimize {
namespace {

class Verifier {
 public:
  Verifier(const Job& job, const Baseline& baseline) : job_(job), baseline_(baseline) {}

  absl::StatusOr<VerifiedCandidates> Run(PackagedCandidates packaged) {
    verified_.variants = std::move(packaged.variants);
    const size_t written = packaged.written.size();
    std::vector<Packaged> challengers =
        ChooseChallengers(job_, baseline_, std::move(packaged.written));
    // Where candidates are run, nothing else is a reason to leave some out.
    verified_.time_was_up =
        baseline_.original.device->backend() != nullptr && challengers.size() < written;
    const bool all_written = packaged.failures.empty();
    if (challengers.empty() && all_written) return std::move(verified_);
    auto checker = NewOriginalChecker(job_, baseline_.original);
    if (!checker.ok()) {
      QUOTIENT_RETURN_IF_ERROR(LeaveUnchecked(checker.status()));
      return std::move(verified_);
    }
    verified_.checker = *checker;
    const size_t most = MostToCheck(job_, baseline_);
    Compared compared = CompareChallengers(job_, baseline_, std::move(challengers), most,
                                           verified_.checker->checker);
    if (!compared.stopped.ok()) QUOTIENT_RETURN_IF_ERROR(LeaveUnchecked(compared.stopped));
    verified_.agreeing = std::move(compared.agreeing);
    if (!compared.refused.empty() || !all_written) {
      AddRescued({std::move(compared.refused), std::move(packaged.applied)}, most);
    }
    if (job_.stop.cancelled()) return Cancelled();
    return std::move(verified_);
  }

 private:
  absl::Status LeaveUnchecked(absl::Status why) {
    if (job_.stop.cancelled()) return Cancelled();
    verified_.unchecked = std::move(why);
    verified_.time_was_up = job_.stop.ShouldStop();
    return absl::OkStatus();
  }

  // Searches again without the rules that are to blame, so that one wrong rule does not cost what
  // the others gain.
  void AddRescued(Refusals refusals, size_t most) {
    verified_.rescued = Rescue(job_, baseline_, verified_.checker->checker, std::move(refusals),
                               job_.budget.ForRescue(job_.stop));
    AddNew(std::exchange(verified_.rescued->candidates, {}), most, &verified_.agreeing);
  }

  const Job& job_;
  const Baseline& baseline_;
  VerifiedCandidates verified_;
};

}  // namespace

absl::StatusOr<VerifiedCandidates> VerifyCandidates(const Job& job, const Baseline& baseline,
                                                    PackagedCandidates packaged) {
  const Clock& clock = job.environment.clock;
  const int64_t start = clock.NowNs();
  const double seconds_to_package = packaged.seconds;
  QUOTIENT_ASSIGN_OR_RETURN(VerifiedCandidates verified,
                            Verifier(job, baseline).Run(std::move(packaged)));
  const auto count = static_cast<double>(std::max<size_t>(verified.agreeing.size(), 1));
  verified.seconds_per_candidate = (seconds_to_package + clock.SecondsSince(start)) / count;
  return verified;
}

VerifiedCandidates AtPresent(VerifiedCandidates verified, cost::CostModel& costs) {
  for (Verified& each : verified.agreeing) {
    each.packaged.cost = cost::AtPresent(std::move(each.packaged.cost), costs);
  }
  return verified;
}

}  // namespace quotient::optimize
