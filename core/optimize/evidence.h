#pragma once

// Evidence: what a prediction and a measurement together say of how long a candidate takes, and
// whether that is enough to take it. DECISION.md derives the formulas.
//
// A belief is a normal distribution of the logarithm of the ratio
//   time(candidate) / time(original).
// Prediction and measurement (of times, or of CPU times) are two independent observations of that
// ratio, each with an error of its own, so their beliefs are combined with weights that are the
// inverse variances.

#include <limits>
#include <optional>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/report/report.h"
#include "core/timing/end_to_end.h"

namespace quotient::optimize {

// A gain below this is not worth changing a model for, however sure it is. Runs show no smaller
// one: the same graph compiled again takes longer or shorter by as much.
inline constexpr double kLeastGain = 0.005;

struct Belief {
  double mean = 0;                                      // The mean of the logarithm of the ratio.
  double sd = std::numeric_limits<double>::infinity();  // Infinite if nothing is known.
};

// What predicted costs, in any unit, say of the ratio. Nothing if one of them is not positive.
Belief BeliefFromPrediction(double original_us, double candidate_us);
// What runs say of the ratio.
Belief BeliefFromRuns(const timing::RatioStatistics& ratio);
// What runs on one thread say of the ratio of run times with several threads.
Belief BeliefFromCpuTime(const timing::RatioStatistics& ratio);
// What the predicted costs of two graphs say. Nothing if the graphs need different estimates, which
// are optimistic.
Belief PredictionOf(const cost::GraphCost& original, const cost::GraphCost& candidate);
// Whether what runs show should be seen once more, of the graphs compiled anew: that a graph is
// surely faster, perhaps by no more than another place in memory can make it, or that runs and
// prediction surely (95 %) differ while one of them speaks of a gain.
bool IsDoubtful(const timing::RatioStatistics& ratio, const Belief& prediction);
Belief Combine(const Belief& a, const Belief& b);
// The probability that the logarithm of the ratio is below `bound`.
double ProbabilityBelow(const Belief& belief, double bound);
// Whether `a` has the smaller ratio with a probability of at least 95 %, computed as if their
// errors were independent. In fact both are ratios to the same original, so a difference is surer
// than that.
bool IsSurelyBelow(const Belief& a, const Belief& b);

// What is known of a candidate.
struct Evidence {
  timing::RatioStatistics ratio;
  // Of runs on one thread, by the CPU time of those that are contaminated. Known where other work
  // on the machine disturbed most runs; `ratio` then says nothing.
  std::optional<timing::RatioStatistics> cpu_time = {};
  Belief prediction;
  bool does_subset_of_work = false;  // DoesSubsetOfWork
};

// What the evidence amounts to.
struct Judgement {
  report::Grounds grounds = report::Grounds::kNotSure;
  Belief belief;           // By everything that is known.
  double probability = 0;  // That it is faster.

  bool takes() const {
    return grounds != report::Grounds::kNotSure && grounds != report::Grounds::kSurelySlower;
  }
};

// Judges a candidate by the first of these that holds:
//   surely slower            at least six pairs ran, and the whole interval of the ratio is above
//                            1; that of CPU times is above 1.01: not taken;
//   measured                 at least six pairs ran, the whole interval is below 1, the gain is at
//                            least kLeastGain, and it is sure by the prediction together with the
//                            runs as well, or the whole interval is at least a percent below 1; not
//                            by CPU times;
//   CPU time                 by CPU times alone, and by the prediction together with them, it is
//                            faster with a probability of at least 95 %, and the gain is expected
//                            to be at least kLeastGain;
//   likely by measurement    the same by runs with all threads: fewer than six pairs of them, or an
//                            interval that is not below 1 as a whole;
//   subset of the work       it does a subset of the original's work, so it is taken even if noise
//                            hides the gain;
//   predicted and measured   by both together it is faster with a probability of at least 95 %, the
//                            gain is expected to be at least kLeastGain, and the runs speak for it:
//                            alone they make it faster with a probability of at least 75 %, and
//                            they are not so noisy (a standard deviation of 5 %) that they tell
//                            nothing;
//   not sure                 none of these: not taken.
Judgement Judge(const Evidence& evidence);

}  // namespace quotient::optimize
