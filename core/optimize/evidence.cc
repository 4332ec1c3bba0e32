#include "core/optimize/evidence.h"

#include <algorithm>
#include <cmath>

#include "core/optimize/same_kernels.h"

namespace quotient::optimize {
namespace {

using report::Grounds;

// What is assumed of the errors of predictions: nine tenths of a predicted gain are realized, with
// a standard deviation of about a third of it, and a prediction of no gain is off by one percent.
// DECISION.md says what that rests on.
constexpr double kRealizedShare = 0.9;
constexpr double kSdOfShare = 0.35;
constexpr double kSdOfPrediction = 0.01;
// What measuring the same executables for longer does not show: the same graph compiled again is
// faster or slower by this because its buffers and code lie elsewhere in memory.
constexpr double kSdOfPlacement = 0.006;
// What that may amount to for small graphs.
constexpr double kMostOfPlacement = 0.02;
// Runs that show at least this gain need no prediction to be believed.
constexpr double kLeastMeasuredGain = 0.01;
// No prediction alone is enough: runs must make a gain as likely as this by themselves, and those
// that are noisier than this tell nothing.
constexpr double kLeastProbabilityByRuns = 0.75;
constexpr double kMostNoise = 0.05;
// What is assumed of the gain with several threads where that on one thread is known: its standard
// deviation is half of that gain, but not more than one percent. A loss of less than kLeastLoss on
// one thread need not be one.
constexpr double kSdOfThreadsShare = 0.5;
constexpr double kMostSdOfThreads = 0.01;
constexpr double kLeastLoss = 0.01;
// Fewer pairs than this show too little of the noise to call anything sure, and their interval is
// taken to be too narrow by this factor.
using report::kFewestPairs;
constexpr double kFewPairsFactor = 2;
// The probability at which a gain counts as sure.
constexpr double kSureProbability = 0.95;

double StandardNormalCdf(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

// Whether a gain of at least kLeastGain is expected, and a gain is sure.
bool IsSureGain(const Belief& belief) {
  return ProbabilityBelow(belief, 0) >= kSureProbability && belief.mean <= std::log(1 - kLeastGain);
}

bool SpeakForAGain(const Belief& runs) {
  return ProbabilityBelow(runs, 0) >= kLeastProbabilityByRuns && runs.sd <= kMostNoise;
}

}  // namespace

Belief BeliefFromPrediction(double original_us, double candidate_us) {
  if (!(original_us > 0) || !(candidate_us > 0)) return {};
  const double promised = std::log(candidate_us / original_us);
  return {kRealizedShare * promised, std::hypot(kSdOfShare * promised, kSdOfPrediction)};
}

Belief BeliefFromRuns(const timing::RatioStatistics& ratio) {
  if (ratio.pairs == 0 || !(ratio.value > 0)) return {};
  const double sd = ratio.log_sd * (ratio.pairs < kFewestPairs ? kFewPairsFactor : 1);
  // The mean of two measurements is half of their difference away from each.
  const double placement = std::max(kSdOfPlacement, ratio.log_difference / 2);
  return {std::log(ratio.value), std::hypot(sd, placement)};
}

Belief BeliefFromCpuTime(const timing::RatioStatistics& ratio) {
  const Belief runs = BeliefFromRuns(ratio);
  const double sd_of_threads = std::min(kSdOfThreadsShare * std::abs(runs.mean), kMostSdOfThreads);
  return {runs.mean, std::hypot(runs.sd, sd_of_threads)};
}

Belief PredictionOf(const cost::GraphCost& original, const cost::GraphCost& candidate) {
  if (!HaveSameEstimates(original, candidate)) return {};
  return BeliefFromPrediction(original.total_us, candidate.total_us);
}

bool IsDoubtful(const timing::RatioStatistics& ratio, const Belief& prediction) {
  if (ratio.pairs == 0) return false;
  if (ratio.surely_faster() && ratio.interval.high > 1 - kMostOfPlacement) return true;
  // Where nothing is predicted, no gain is expected, but that is a guess.
  constexpr double kSdOfGuess = 0.02;
  const Belief expected = std::isinf(prediction.sd) ? Belief{0, kSdOfGuess} : prediction;
  const Belief runs = BeliefFromRuns(ratio);
  if (runs.mean >= 0 && expected.mean >= 0) return false;  // It is not going to be taken.
  return IsSurelyBelow(runs, expected) || IsSurelyBelow(expected, runs);
}

Belief Combine(const Belief& a, const Belief& b) {
  if (std::isinf(a.sd)) return b;
  if (std::isinf(b.sd)) return a;
  const double weight_a = 1 / (a.sd * a.sd);
  const double weight_b = 1 / (b.sd * b.sd);
  const double weight = weight_a + weight_b;
  return {(weight_a * a.mean + weight_b * b.mean) / weight, std::sqrt(1 / weight)};
}

double ProbabilityBelow(const Belief& belief, double bound) {
  if (std::isinf(belief.sd)) return 0.5;
  return StandardNormalCdf((bound - belief.mean) / belief.sd);
}

bool IsSurelyBelow(const Belief& a, const Belief& b) {
  const Belief difference = {a.mean - b.mean, std::hypot(a.sd, b.sd)};
  return ProbabilityBelow(difference, 0) >= kSureProbability;
}

Judgement Judge(const Evidence& evidence) {
  const bool by_cpu_time = evidence.cpu_time.has_value();
  const timing::RatioStatistics& ratio = by_cpu_time ? *evidence.cpu_time : evidence.ratio;
  const Belief runs = by_cpu_time ? BeliefFromCpuTime(ratio) : BeliefFromRuns(ratio);
  Judgement judgement;
  judgement.belief = Combine(evidence.prediction, runs);
  judgement.probability = ProbabilityBelow(judgement.belief, 0);
  const bool are_enough = ratio.pairs >= kFewestPairs;
  const bool is_slower =
      ratio.surely_slower() && (!by_cpu_time || ratio.interval.low > 1 + kLeastLoss);
  const bool is_sure = IsSureGain(judgement.belief);
  const bool is_measured = ratio.surely_faster() && ratio.value <= 1 - kLeastGain;
  if (are_enough && is_slower) {
    judgement.grounds = Grounds::kSurelySlower;
  } else if (are_enough && !by_cpu_time && is_measured &&
             (is_sure || ratio.interval.high <= 1 - kLeastMeasuredGain)) {
    judgement.grounds = Grounds::kMeasured;
  } else if (IsSureGain(runs) && is_sure) {
    judgement.grounds = by_cpu_time ? Grounds::kCpuTime : Grounds::kMeasuredLikely;
  } else if (evidence.does_subset_of_work) {
    judgement.grounds = Grounds::kSubsetOfWork;
  } else if (is_sure && SpeakForAGain(runs)) {
    judgement.grounds = Grounds::kPredictedAndMeasured;
  }
  return judgement;
}

}  // namespace quotient::optimize
