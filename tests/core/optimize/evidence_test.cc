#include "core/optimize/evidence.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quotient::optimize {
namespace {

using report::Grounds;

// Runs that show `ratio`, give or take `half` with 99 % confidence.
timing::RatioStatistics Runs(double ratio, double half, int pairs = 48) {
  constexpr double kSds = 2.576;  // On either side of 99 % of a normal distribution.
  const double log_sd = std::log((ratio + half) / (ratio - half)) / (2 * kSds);
  return {ratio, {ratio - half, ratio + half}, log_sd, pairs};
}

Judgement JudgeRuns(const timing::RatioStatistics& ratio, double predicted_ratio,
                    bool does_subset_of_work = false) {
  return Judge({.ratio = ratio,
                .prediction = BeliefFromPrediction(100, 100 * predicted_ratio),
                .does_subset_of_work = does_subset_of_work});
}

TEST(Belief, OfRunsHasTheWidthOfTheirInterval) {
  const Belief belief = BeliefFromRuns(Runs(1, 0.0515));
  EXPECT_NEAR(belief.mean, 0, 1e-12);
  EXPECT_NEAR(belief.sd, std::hypot(0.02, 0.006), 5e-4);
}

TEST(Belief, OfFewRunsIsWider) {
  EXPECT_GT(BeliefFromRuns(Runs(1, 0.05, 3)).sd, 1.9 * BeliefFromRuns(Runs(1, 0.05)).sd);
}

TEST(Belief, OfAPredictionIsMostOfItsPromise) {
  const Belief belief = BeliefFromPrediction(100, 90);
  EXPECT_NEAR(belief.mean, 0.9 * std::log(0.9), 1e-12);
  EXPECT_NEAR(belief.sd, std::hypot(0.35 * std::log(0.9), 0.01), 1e-12);
  EXPECT_TRUE(std::isinf(BeliefFromPrediction(0, 90).sd));
}

TEST(Belief, TheSurerOneWeighsMore) {
  const Belief both = Combine({.mean = 0, .sd = 0.1}, {.mean = -0.1, .sd = 0.05});
  EXPECT_NEAR(both.mean, -0.08, 1e-12);
  EXPECT_NEAR(both.sd, std::sqrt(1 / (100.0 + 400)), 1e-12);
  const Belief one = Combine({}, {.mean = -0.1, .sd = 0.05});
  EXPECT_EQ(one.mean, -0.1);
  EXPECT_EQ(one.sd, 0.05);
}

// The example of DECISION.md: predicted to gain 10 %, measured to gain 5 %.
TEST(Belief, ThePredictionWeighsMoreWhereRunsAreNoisy) {
  const auto believed = [](double sd_of_runs) {
    return Combine(BeliefFromPrediction(100, 90), {std::log(0.95), sd_of_runs});
  };
  EXPECT_NEAR(1 - std::exp(believed(0.007).mean), 0.051, 5e-4);
  EXPECT_NEAR(1 - std::exp(believed(0.05).mean), 0.076, 5e-4);
}

TEST(Belief, ProbabilitiesAreThoseOfANormalDistribution) {
  EXPECT_NEAR(ProbabilityBelow({.mean = 0, .sd = 1}, 1.6449), 0.95, 1e-4);
  EXPECT_EQ(ProbabilityBelow({}, 0), 0.5);
  EXPECT_TRUE(IsSurelyBelow({.mean = -0.04, .sd = 0.01}, {.mean = 0, .sd = 0.01}));
  EXPECT_FALSE(IsSurelyBelow({.mean = -0.02, .sd = 0.01}, {.mean = 0, .sd = 0.01}));
}

TEST(Judge, WhatIsMeasuredToBeFasterIsTakenWhateverWasPredicted) {
  EXPECT_EQ(JudgeRuns(Runs(0.95, 0.01), 0.95).grounds, Grounds::kMeasured);
  EXPECT_EQ(JudgeRuns(Runs(0.95, 0.01), 1.2).grounds, Grounds::kMeasured);
}

TEST(Judge, WhatIsSurelySlowerIsNotTakenWhateverSpeaksForIt) {
  const Judgement judgement = JudgeRuns(Runs(1.05, 0.04), 0.5, /*does_subset_of_work=*/true);
  EXPECT_EQ(judgement.grounds, Grounds::kSurelySlower);
  EXPECT_FALSE(judgement.takes());
}

TEST(Judge, ASubsetOfTheWorkIsTakenIfNoiseHidesItsGain) {
  for (const double ratio : {0.9, 1.0, 1.1}) {
    EXPECT_EQ(JudgeRuns(Runs(ratio, 0.3), 0.97, true).grounds, Grounds::kSubsetOfWork) << ratio;
    EXPECT_EQ(JudgeRuns(Runs(ratio, 0.3), 0.97).grounds, Grounds::kNotSure) << ratio;
  }
}

TEST(Judge, AGainThatEachAloneLeavesOpenIsTakenByBoth) {
  EXPECT_EQ(JudgeRuns(Runs(0.95, 0.08), 0.9).grounds, Grounds::kPredictedAndMeasured);
  EXPECT_EQ(JudgeRuns(Runs(0.95, 0.08), 1).grounds, Grounds::kNotSure);
}

TEST(Judge, NoPredictionAloneIsEnough) {
  EXPECT_EQ(JudgeRuns({}, 0.9).grounds, Grounds::kNotSure);
  for (const double predicted : {0.5, 0.9, 0.95, 0.97, 0.985}) {
    for (const double half : {0.005, 0.01, 0.03, 0.08, 0.12, 0.2, 0.4}) {
      for (const double ratio : {0.995, 1.0, 1.01, 1.05}) {
        if (ratio < 1 && half < 0.02) continue;  // These runs do speak for a gain.
        EXPECT_EQ(JudgeRuns(Runs(ratio, half), predicted).grounds,
                  ratio - half > 1 ? Grounds::kSurelySlower : Grounds::kNotSure)
            << predicted << " " << ratio << " " << half;
      }
    }
    EXPECT_EQ(JudgeRuns(Runs(0.9, 0.3), predicted).grounds, Grounds::kNotSure) << "too noisy";
  }
}

TEST(Judge, NoNoiseMakesAGainSurer) {
  for (const double predicted : {0.9, 0.95, 0.97, 0.985, 1.0}) {
    for (const double ratio : {0.93, 0.96, 0.98, 0.99, 0.995, 1.0}) {
      bool was_taken = true;
      for (double half = 0.01; half < 0.3; half += 0.01) {
        const bool is_taken = JudgeRuns(Runs(ratio, half), predicted).takes();
        EXPECT_TRUE(was_taken || !is_taken) << predicted << " " << ratio << " " << half;
        was_taken = is_taken;
      }
    }
  }
}

// As the same two graphs may be measured in two jobs, of which one has a noisier machine.
TEST(Judge, ASmallGainThatWasPredictedIsTakenWhateverRunShowsIt) {
  for (const double ratio : {0.96, 0.97, 0.98, 0.99}) {
    for (const double half : {0.01, 0.02, 0.03}) {
      EXPECT_TRUE(JudgeRuns(Runs(ratio, half), 0.97).takes()) << ratio << " " << half;
    }
  }
}

TEST(Judge, ASmallGainThatWasNotPredictedIsNot) {
  for (const double ratio : {0.985, 0.99, 0.995}) {
    for (const double half : {0.015, 0.02, 0.03}) {
      EXPECT_FALSE(JudgeRuns(Runs(ratio, half), 1.0).takes()) << ratio << " " << half;
    }
  }
  EXPECT_TRUE(JudgeRuns(Runs(0.98, 0.01), 1.0).takes()) << "at least a percent was measured";
}

// Whether the prediction agrees, or is not there at all.
TEST(Judge, WhereRunsAloneMakeAGainLikelyNoPredictionIsNamed) {
  for (const bool does_subset_of_work : {false, true}) {
    const auto grounds_of = [&](const timing::RatioStatistics& ratio, const Belief& prediction) {
      return Judge({.ratio = ratio,
                    .prediction = prediction,
                    .does_subset_of_work = does_subset_of_work})
          .grounds;
    };
    const Belief agrees = BeliefFromPrediction(100, 90);
    for (const Belief& prediction : {Belief{}, agrees, BeliefFromPrediction(100, 107)}) {
      EXPECT_EQ(grounds_of(Runs(0.764, 0.007, 3), prediction), Grounds::kMeasuredLikely);
    }
    for (const Belief& prediction : {Belief{}, agrees}) {
      EXPECT_EQ(grounds_of(Runs(0.95, 0.055), prediction), Grounds::kMeasuredLikely);
    }
  }
}

TEST(Judge, APredictionOfALossMakesNothingSure) {
  for (const double predicted : {1.0, 1.02, 1.07, 37.0}) {
    for (const double ratio : {0.6, 0.9, 0.95, 0.98, 0.99, 0.995, 1.0}) {
      for (const double half : {0.001, 0.01, 0.03, 0.08}) {
        for (const bool by_cpu_time : {false, true}) {
          Evidence evidence = {.ratio = Runs(ratio, half, 5),
                               .prediction = BeliefFromPrediction(100, 100 * predicted)};
          if (by_cpu_time) evidence.cpu_time = evidence.ratio;
          EXPECT_NE(Judge(evidence).grounds, Grounds::kPredictedAndMeasured)
              << predicted << " " << ratio << " " << half;
        }
      }
    }
  }
}

TEST(Judge, FewRunsAloneSureNothing) {
  EXPECT_EQ(JudgeRuns(Runs(0.98, 0.015, 5), 1).grounds, Grounds::kNotSure);
  EXPECT_EQ(JudgeRuns(Runs(1.02, 0.015, 5), 1, true).grounds, Grounds::kSubsetOfWork);
}

TEST(Judge, AGainThatIsTooSmallIsNotTakenAsMeasured) {
  EXPECT_EQ(JudgeRuns(Runs(0.999, 0.0005), 1).grounds, Grounds::kNotSure);
}

TEST(Belief, WhatIsFarFromThePredictionIsASurprise) {
  const auto is_doubtful = [](const timing::RatioStatistics& runs, double predicted_ratio) {
    return IsDoubtful(runs, BeliefFromPrediction(100, 100 * predicted_ratio));
  };
  EXPECT_TRUE(is_doubtful(Runs(0.94, 0.01), 1.0));
  EXPECT_FALSE(is_doubtful(Runs(1.06, 0.01), 1.0)) << "nobody speaks of a gain";
  EXPECT_TRUE(is_doubtful(Runs(1.015, 0.02), 0.97)) << "a predicted gain is not there";
  EXPECT_FALSE(is_doubtful(Runs(1.0, 0.06), 0.97)) << "it may be there";
  EXPECT_FALSE(is_doubtful(Runs(0.94, 0.01), 0.94));
  EXPECT_FALSE(is_doubtful(Runs(0.96, 0.07), 1.0)) << "the runs are not sure";
  EXPECT_TRUE(IsDoubtful(Runs(0.94, 0.01), {})) << "nothing was predicted";
  EXPECT_TRUE(is_doubtful(Runs(0.985, 0.01), 0.985)) << "placement may make such a gain";
  EXPECT_TRUE(is_doubtful(Runs(0.96, 0.03), 0.96)) << "the gain may be as small";
  EXPECT_FALSE(is_doubtful(Runs(0.96, 0.01), 0.96));
}

// A model that is compiled again is faster or slower by as much.
TEST(Judge, AGainThatIsTooSmallIsNotTakenHoweverSureItIs) {
  EXPECT_EQ(JudgeRuns(Runs(0.996, 0.0005), 0.996).grounds, Grounds::kNotSure);
  EXPECT_EQ(JudgeRuns(Runs(0.989, 0.0005), 0.989).grounds, Grounds::kMeasured);
}

// Where the machine is busy, what runs took tells little, and CPU times are compared as well.
Judgement JudgeBusy(double ratio, double cpu_time_ratio, bool does_subset_of_work = false) {
  return Judge({.ratio = Runs(ratio, 0.1),
                .cpu_time = Runs(cpu_time_ratio, 0.004),
                .prediction = {},
                .does_subset_of_work = does_subset_of_work});
}

TEST(Belief, OfCpuTimeIsOffByHalfOfTheGainOrOnePercent) {
  const auto sd_of = [](double ratio) { return BeliefFromCpuTime(Runs(ratio, 0.0005)).sd; };
  EXPECT_NEAR(BeliefFromCpuTime(Runs(0.99, 0.0005)).mean, std::log(0.99), 1e-12);
  EXPECT_NEAR(sd_of(0.99), 0.0078, 2e-4);  // Half a percent, and the placement.
  EXPECT_NEAR(sd_of(0.90), 0.0117, 2e-4);
  EXPECT_NEAR(sd_of(1.10), 0.0117, 2e-4);
  EXPECT_TRUE(std::isinf(BeliefFromCpuTime({}).sd));
}

TEST(Judge, WhatTakesLessCpuTimeIsTakenOnABusyMachine) {
  const Judgement judgement = JudgeBusy(1.0, 0.97);
  EXPECT_EQ(judgement.grounds, Grounds::kCpuTime);
  EXPECT_EQ(JudgeBusy(1.0, 0.97, /*does_subset_of_work=*/true).grounds, Grounds::kCpuTime);
  EXPECT_LT(judgement.belief.mean, std::log(0.98));
  EXPECT_EQ(JudgeBusy(1.0, 0.995).grounds, Grounds::kNotSure);
}

TEST(Judge, AGainOfCpuTimeThatIsNotSureMayBeMadeSureByAPrediction) {
  const auto grounds_of = [](double predicted_ratio) {
    return Judge({.ratio = {},
                  .cpu_time = Runs(0.99, 0.004),
                  .prediction = BeliefFromPrediction(100, 100 * predicted_ratio)})
        .grounds;
  };
  EXPECT_EQ(grounds_of(0.9), Grounds::kPredictedAndMeasured);
  EXPECT_EQ(grounds_of(1.0), Grounds::kNotSure);
}

// Threads that find no core make one graph slower than the other by chance, for as long as a race.
TEST(Judge, NoLuckyRunLetsACandidateInOnABusyMachine) {
  EXPECT_EQ(JudgeRuns(Runs(0.85, 0.1), 1.0).grounds, Grounds::kMeasured);
  EXPECT_EQ(JudgeBusy(0.85, 1.0).grounds, Grounds::kNotSure);
}

TEST(Judge, NorDoFewRunsThatAgreeByChance) {
  const auto judge = [](double ratio, const timing::RatioStatistics& cpu_time) {
    return Judge({.ratio = Runs(ratio, 0.01, 4), .cpu_time = cpu_time, .prediction = {}});
  };
  EXPECT_EQ(judge(0.85, Runs(1.0, 0.004)).grounds, Grounds::kNotSure);
  EXPECT_EQ(judge(1.15, Runs(0.96, 0.004)).grounds, Grounds::kCpuTime);
  EXPECT_EQ(judge(0.85, {}).grounds, Grounds::kNotSure) << "it could not be run on one thread";
}

// On several threads that need not be a loss.
TEST(Judge, ASmallLossOfCpuTimeIsNotSure) {
  EXPECT_EQ(JudgeBusy(1.0, 1.008).grounds, Grounds::kNotSure);
  EXPECT_EQ(JudgeBusy(1.0, 1.008, /*does_subset_of_work=*/true).grounds, Grounds::kSubsetOfWork);
}

TEST(Judge, WhatTakesMoreCpuTimeIsNotTakenThoughItDoesASubsetOfTheWork) {
  EXPECT_EQ(JudgeBusy(1.0, 1.05, /*does_subset_of_work=*/true).grounds, Grounds::kSurelySlower);
  EXPECT_EQ(JudgeBusy(1.2, 1.0, /*does_subset_of_work=*/true).grounds, Grounds::kSubsetOfWork);
}

}  // namespace
}  // namespace quotient::optimize
