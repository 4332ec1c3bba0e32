#include "core/optimize/budget.h"

#include <algorithm>

namespace quotient::optimize {
namespace {

// The share of the search's own budget in which the e-graph grows. The rest is left for
// measurements, which extraction needs.
constexpr double kGrowShare = 0.4;
// The same where the search has less time than its own budget.
constexpr double kGrowShareOfRest = 0.62;
// The least shares of the budget that late phases get.
constexpr double kLeastFile = 0.15;
constexpr double kLeastSearch = 0.1;
constexpr double kLeastMeasuring = 0.2;
constexpr double kLeastRescue = 0.25;
// With less than this no gain of a few percent can be told from noise.
constexpr double kLeastMeasuringSeconds = 2;
// A job does not wait longer than this for a race, however large its budget.
constexpr double kMostMeasuringSeconds = 30;
// What a job takes at most of its budget, as far as that can be foreseen: less than one and a half
// times of it, because what is foreseen is off by some percent.
constexpr double kMostOfJob = 1.4;
// What a model has use for: so many runs of it, or these seconds if they are more. A prior expects
// a run to take 0.63 of what it takes at the median of 26 networks with two threads, and 0.35 to
// 1.8 of it but for an LSTM (0.01) and a quantized network (3.7), which get the seconds.
constexpr double kUsefulRuns = 1500;
constexpr double kLeastUsefulSeconds = 8.5;
// What questions may take, of the budget and at most.
constexpr double kQuestionsShare = 0.1;
constexpr double kMostQuestionSeconds = 2;
// What the journal usually takes at most, of the budget and in any case.
constexpr double kJournalShare = 0.1;
constexpr double kLeastJournalSeconds = 3;
constexpr double kMostJournalSeconds = 30;
// Steps of deriving that usually take a second (core/journal/README.md), and how many times as long
// they may take on a slow or busy machine.
constexpr double kJournalStepsPerSecond = 1e7;
constexpr double kMostSlowdownOfJournal = 4;

}  // namespace

Budget::Budget(const Options& options, const Clock& clock, const StopCondition& stop)
    : clock_(clock),
      stop_(stop),
      start_ns_(clock.NowNs()),
      asked_seconds_(options.budget_seconds),
      whole_seconds_(options.budget_seconds),
      search_seconds_(options.search_budget_seconds) {}

void Budget::FitTo(double run_seconds) {
  if (search_seconds_ > 0) return;
  const double useful = std::max(kUsefulRuns * run_seconds, kLeastUsefulSeconds);
  const double times_the_usual = std::max(1.0, whole_seconds_ / Options().budget_seconds);
  whole_seconds_ = std::min(whole_seconds_.load(), times_the_usual * useful);
}

double Budget::Seconds() const {
  const int64_t finish_ns = stop_.finish_ns();
  if (finish_ns == StopCondition::kNever) return whole_seconds_;
  const double passed = 1e-9 * static_cast<double>(std::max<int64_t>(0, finish_ns - start_ns_));
  return std::min(whole_seconds_.load(), passed);
}

double Budget::SecondsUntil(double share) const {
  return std::max(0.0, share * Seconds() - clock_.SecondsSince(start_ns_));
}

StopCondition Budget::Until(double share, const StopCondition& stop) const {
  return stop.WithBudget(clock_, SecondsUntil(share));
}

StopCondition Budget::ForFile(const StopCondition& stop) const {
  return stop.WithBudget(clock_, std::max(SecondsUntil(kBaselineEnd), kLeastFile * Seconds()));
}

StopCondition Budget::ForRescue(const StopCondition& stop) const {
  return stop.WithBudget(clock_, std::max(SecondsUntil(1), kLeastRescue * Seconds()));
}

SearchTime Budget::ForSearch(double late_seconds) const {
  const bool is_own = search_seconds_ > 0;
  const double wanted = is_own ? search_seconds_ : Seconds();
  const double share = SecondsUntil(is_own ? 1 : kSearchEnd);
  const double possible = (SecondsUntil(kMostOfJob) - late_seconds) / (1 + kSearchGrace);
  const double left = std::max(std::min(share, possible), kLeastSearch * Seconds());
  const double seconds = std::min(wanted, left);
  return {.grow_seconds = std::min(kGrowShare * wanted, kGrowShareOfRest * seconds),
          .seconds = seconds};
}

StopCondition Budget::ForQuestions(const StopCondition& stop) const {
  return stop.WithBudget(clock_, std::min(kQuestionsShare * Seconds(), kMostQuestionSeconds));
}

JournalBudget Budget::ForJournal(const StopCondition& stop) const {
  const double seconds =
      std::clamp(kJournalShare * asked_seconds_, kLeastJournalSeconds, kMostJournalSeconds);
  return {.steps = static_cast<int64_t>(kJournalStepsPerSecond * seconds),
          .stop = stop.WithoutDeadline().WithBudget(clock_, kMostSlowdownOfJournal * seconds)};
}

double Budget::LeastForMeasuring() const {
  return std::min(std::max(kLeastMeasuringSeconds, kLeastMeasuring * Seconds()),
                  kMostMeasuringSeconds);
}

double Budget::ForMeasuring() const {
  return std::clamp(Left(), LeastForMeasuring(), kMostMeasuringSeconds);
}

double Budget::Left() const { return SecondsUntil(1); }

bool Budget::IsExceeded() const {
  return clock_.SecondsSince(start_ns_) >= kMostOfJob * whole_seconds_;
}

bool Budget::IsCut() const { return Seconds() < whole_seconds_; }

}  // namespace quotient::optimize
