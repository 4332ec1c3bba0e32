#pragma once

// Variations: decides about families of rewrites one by one, where running whole candidates has not
// decided about all of them together. If the best candidate was not taken, one bad rewrite may hide
// what the others gain; if it was, rewrites that hardly save anything may do harm. So variants of
// it without some families are run, too, as long as the budget lasts.

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/optimize/budget.h"
#include "core/optimize/candidates.h"
#include "core/optimize/decide.h"
#include "core/optimize/package.h"
#include "core/optimize/prepared.h"
#include "core/optimize/variants.h"
#include "core/optimize/verified.h"
#include "core/verify/checker.h"

namespace quotient::optimize {

// Says which families to leave out next.
//
// If the whole candidate was taken, all families that save less than half a percent of the
// original's cost are left out together, once. If it was not, each family is left out in turn where
// there are up to three. Where there are more, they are halved: one half is left out, then the
// other. If a variant is taken, the half that it does without is halved again, and each part of it
// comes back, as in a binary search for the harmful family.
class LeaveOut {
 public:
  // `families` begin with those that save most, as Variants::FamiliesOf returns them.
  LeaveOut(const std::vector<RewriteFamily>& families, bool is_taken, double original_us);

  // The next sets of families, by index; each is to be left out of the candidate in a variant of
  // its own. Empty if there is nothing more to try.
  std::vector<std::vector<size_t>> Next();
  // Reports which of the sets that Next returned last is left out of the variant that was taken;
  // nullopt if none of these variants was taken. To be called before Next is called again.
  void ReportTaken(std::optional<size_t> taken);

 private:
  const bool is_taken_;
  std::vector<std::vector<size_t>> next_;
  std::vector<std::vector<size_t>> last_;
};

// What variants are made, checked and run with. Everything but the last four is borrowed.
struct VariationContext {
  const Prepared& original;
  const cost::GraphCost& cost;  // The cost of the original.
  cost::CostModel& costs;
  const PackageSettings& package;
  verify::Checker& checker;
  const Budget& budget;
  const StopCondition& stop;
  int threads = 1;                   // Of runs, where none disturbs them.
  double seconds_per_candidate = 0;  // What packaging and checking one took so far.
  // Whether two candidates are known to take the same time, so that one of them is enough.
  std::function<bool(const Packaged&, const Packaged&)> take_same_time;
  // Runs and judges candidates, within so many seconds.
  std::function<absl::StatusOr<Decision>(std::vector<Verified>, double seconds)> race;
};

// Tries variants of the candidate that `decision` took, or else of the foremost one. What was
// decided stays unless a variant is surely better.
void TryVariants(const VariationContext& context, Variants& variants, Decision* decision);

}  // namespace quotient::optimize
