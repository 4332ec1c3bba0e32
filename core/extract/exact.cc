#include "core/extract/exact.h"

#include <algorithm>
#include <utility>

#include "core/base/status_macros.h"
#include "core/extract/branch_and_cut.h"
#include "core/extract/dag.h"
#include "core/extract/dual_ascent.h"
#include "core/extract/instance.h"
#include "core/extract/to_selection.h"

namespace quotient::extract {
namespace {

// Costs that differ by less, relatively, are equal.
constexpr double kTolerance = 1e-9;
// A round that leaves more than this of the e-nodes is the last one.
constexpr double kWorthAnotherRound = 0.8;

// The best selection so far, and what is left of the instance: e-nodes that a cheaper one may have.
class Reduction {
 public:
  Reduction(const Problem& problem, Instance instance, const StopCondition& stop)
      : problem_(problem), rest_(std::move(instance)), stop_(stop) {
    best_ = ToSelection(problem_, rest_, SearchLocally(rest_, stop_));
  }

  Selection Run() {
    while (Reduce()) {
    }
    if (!proven() && !stop_.ShouldStop()) BranchAndCutTheRest();
    best_.lower_bound = std::min(bound_, best_.cost);
    return std::move(best_);
  }

 private:
  // What a selection must be below to be cheaper.
  double limit() const { return best_.cost * (1 - kTolerance); }
  bool proven() const { return bound_ >= limit(); }
  void Prove() { bound_ = best_.cost; }
  // What is left has no selection cheaper than `value`, and all else none cheaper than the best.
  void RaiseBound(double value) {
    bound_ = std::max(bound_, value);
    if (proven()) Prove();
  }
  void Offer(Selection selection) {
    if (selection.cost < limit()) best_ = std::move(selection);
  }

  // One round; true if another one may be worth it.
  bool Reduce() {
    const DualBound dual = AscendDual(rest_, rest_.cost, stop_);
    RaiseBound(dual.bound);
    if (proven()) return false;
    const size_t before = rest_.num_nodes();
    const std::vector<bool> keep = CanBeCheaper(rest_, dual, limit());
    absl::StatusOr<Instance> rest = Restrict(rest_, keep);
    if (!rest.ok()) {
      Prove();
      return false;
    }
    rest_ = *std::move(rest);
    const bool goes_on =
        static_cast<double>(rest_.num_nodes()) < kWorthAnotherRound * static_cast<double>(before);
    if (goes_on) Offer(ToSelection(problem_, rest_, SearchLocally(rest_, stop_)));
    return goes_on && !stop_.ShouldStop();
  }

  void BranchAndCutTheRest() {
    const BranchAndCutResult result = BranchAndCut(rest_, limit(), stop_);
    if (result.choice.has_value()) Offer(ToSelection(problem_, rest_, *result.choice));
    RaiseBound(result.lower_bound);
  }

  const Problem& problem_;
  Instance rest_;
  const StopCondition& stop_;
  Selection best_;
  double bound_ = 0;
};

}  // namespace

absl::StatusOr<Selection> ExactExtractor::Choose(const Problem& problem,
                                                 const StopCondition& stop) const {
  QUOTIENT_ASSIGN_OR_RETURN(Instance instance, MakeInstance(problem));
  return Reduction(problem, std::move(instance), stop).Run();
}

}  // namespace quotient::extract
