#include "core/report/decision_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/counted.h"

namespace quotient::report {
namespace {

const std::optional<PercentRange>& MeasuredGain(const Considered& candidate) {
  return candidate.cpu_time_percent.has_value() ? candidate.cpu_time_percent
                                                : candidate.measured_percent;
}

bool HasFewPairs(const Considered& candidate) {
  return candidate.pairs > 0 && candidate.pairs < kFewestPairs;
}

// How sure prediction and measurement together make a gain.
std::string TogetherText(const Considered& candidate) {
  return absl::StrFormat("%s together make a gain %.0f %% sure",
                         candidate.cpu_time_percent.has_value() ? "prediction and CPU time"
                                                                : "prediction and measurement",
                         100 * candidate.probability.value_or(0));
}

constexpr double kLeastGainPercent = 0.5;
// Why so small a gain is not sure although all runs show it.
constexpr char kByPlacement[] = "its place in memory may make as much";

// Whether enough runs with all threads do.
bool ShowsAGain(const Considered& candidate) {
  const std::optional<PercentRange>& gain = candidate.measured_percent;
  return gain.has_value() && gain->low >= kLeastGainPercent &&
         !candidate.cpu_time_percent.has_value() && !HasFewPairs(candidate);
}

constexpr char kByCpuTime[] =
    "by the CPU time of runs on one thread, since other work disturbed the machine";

std::string Reason(const Considered& candidate) {
  switch (candidate.grounds) {
    case Grounds::kNotSure:
      return absl::StrCat("a gain of half a percent is not sure",
                          ShowsAGain(candidate) ? absl::StrCat(", as ", kByPlacement) : "");
    case Grounds::kSurelySlower:
      return "it is surely slower";
    case Grounds::kMeasured:
      return "it was measured to be faster";
    case Grounds::kCpuTime:
      return "it takes less CPU time on one thread";
    case Grounds::kMeasuredLikely:
      return "it was measured to be faster, likely but not surely";
    case Grounds::kSubsetOfWork:
      return "it does a subset of the original's work and is not surely slower";
    case Grounds::kPredictedAndMeasured:
      return TogetherText(candidate);
    case Grounds::kPredicted:
      return "it is predicted to be faster";
  }
  return "";
}

// Why the runs of a candidate alone do not make a gain sure, as a phrase.
std::string WhyRunsDoNotTell(const Considered& candidate) {
  const std::optional<PercentRange>& gain = MeasuredGain(candidate);
  if (!gain.has_value()) return "its time is not known";
  if (HasFewPairs(candidate)) {
    return absl::StrCat("only ", Counted(candidate.pairs, "pair"), " of runs, which is too few");
  }
  if (candidate.cpu_time_percent.has_value()) {
    return gain->low > 0 ? "so small a gain in CPU time on one thread may be none with more"
                         : "the CPU time of runs on one thread does not tell";
  }
  if (gain->low <= 0) return "the measurement alone does not tell";
  return ShowsAGain(candidate) ? kByPlacement : "the measured gain may be below half a percent";
}

bool MayBeTaken(const Considered& candidate) {
  return candidate.grounds != Grounds::kNotSure && candidate.grounds != Grounds::kSurelySlower;
}

std::string Verdict(const Considered& candidate) {
  if (candidate.taken) return absl::StrCat("taken: ", Reason(candidate));
  if (!MayBeTaken(candidate)) return absl::StrCat("not taken: ", Reason(candidate));
  return absl::StrCat("not taken: ", Reason(candidate), ", but it is not the best");
}

std::string Figures(const Considered& candidate) {
  std::string text = candidate.predicted_percent.has_value()
                         ? absl::StrFormat("predicted %.1f %%", *candidate.predicted_percent)
                         : "gain not predicted";
  if (candidate.measured_percent.has_value()) {
    absl::StrAppendFormat(&text, ", measured %.1f to %.1f %%", candidate.measured_percent->low,
                          candidate.measured_percent->high);
  }
  if (candidate.cpu_time_percent.has_value()) {
    absl::StrAppendFormat(&text, ", by CPU time of one thread %.1f to %.1f %%",
                          candidate.cpu_time_percent->low, candidate.cpu_time_percent->high);
  }
  if (candidate.pairs > 0) {
    absl::StrAppend(&text, " in ", Counted(candidate.pairs, "pair"), " of runs");
  }
  if (candidate.measured_percent.has_value() || candidate.cpu_time_percent.has_value()) {
    absl::StrAppendFormat(&text, ", expected %.1f %%", candidate.expected_percent);
  }
  return text;
}

// The candidate that is the result; null if it is the original.
const Considered* Taken(const Report& report) {
  const auto taken = std::ranges::find_if(report.considered, &Considered::taken);
  return taken != report.considered.end() ? &*taken : nullptr;
}

}  // namespace

absl::string_view GroundsName(Grounds grounds) {
  switch (grounds) {
    case Grounds::kNotSure:
      return "not_sure";
    case Grounds::kSurelySlower:
      return "surely_slower";
    case Grounds::kMeasured:
      return "measured";
    case Grounds::kCpuTime:
      return "cpu_time";
    case Grounds::kMeasuredLikely:
      return "measured_likely";
    case Grounds::kSubsetOfWork:
      return "subset_of_work";
    case Grounds::kPredictedAndMeasured:
      return "predicted_and_measured";
    case Grounds::kPredicted:
      return "predicted";
  }
  return "not_sure";
}

std::optional<Grounds> GroundsOfName(absl::string_view name) {
  for (const Grounds grounds : {Grounds::kNotSure, Grounds::kSurelySlower, Grounds::kMeasured,
                                Grounds::kCpuTime, Grounds::kMeasuredLikely, Grounds::kSubsetOfWork,
                                Grounds::kPredictedAndMeasured, Grounds::kPredicted}) {
    if (GroundsName(grounds) == name) return grounds;
  }
  return std::nullopt;
}

std::vector<std::string> DecisionLines(std::span<const Considered> considered) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < considered.size(); ++i) {
    const Considered& candidate = considered[i];
    const std::string without =
        candidate.left_out.empty()
            ? ""
            : absl::StrCat(" without ", absl::StrJoin(candidate.left_out, ", "));
    lines.push_back(absl::StrCat("candidate ", i + 1, without, " (", Figures(candidate), ") ",
                                 Verdict(candidate)));
  }
  return lines;
}

bool IsGainOfCpuTime(const Report& report) {
  const Considered* const taken = Taken(report);
  return taken != nullptr && taken->cpu_time_percent.has_value();
}

absl::string_view IntervalText(const Report& report) {
  return IsGainOfCpuTime(report)
             ? kByCpuTime
             : "by comparing runs turn by turn, which noise moves less than medians";
}

std::string MeasuredGainText(const Report& report) {
  const std::optional<PercentRange>& gain = report.speedup_interval;
  // Reports of older servers have no interval, but say on which grounds the result was taken.
  const bool is_gain = gain.has_value() ? gain->low > 0 : GroundsText(report).empty();
  if (report.outcome != Outcome::kImproved || !report.knows_speedup() || !is_gain) return "";
  return absl::StrFormat("%.1f %% %s", report.speedup_percent,
                         IsGainOfCpuTime(report) ? "less CPU time on one thread" : "faster");
}

std::string GroundsText(const Report& report) {
  const Considered* const taken = Taken(report);
  if (report.outcome != Outcome::kImproved || taken == nullptr) return "";
  switch (taken->grounds) {
    case Grounds::kNotSure:
    case Grounds::kSurelySlower:
    case Grounds::kMeasured:
      return "";
    case Grounds::kCpuTime:
      return kByCpuTime;
    case Grounds::kMeasuredLikely:
      return absl::StrCat("likely by the measurement, but not surely: ",
                          HasFewPairs(*taken) ? WhyRunsDoNotTell(*taken) : "noise leaves a doubt");
    case Grounds::kSubsetOfWork:
      return absl::StrCat("it does only a part of the work; ", WhyRunsDoNotTell(*taken));
    case Grounds::kPredictedAndMeasured:
      return absl::StrCat("by prediction and ",
                          taken->cpu_time_percent.has_value() ? "CPU time" : "measurement",
                          " together; ", WhyRunsDoNotTell(*taken));
    case Grounds::kPredicted:
      return "by prediction; nothing was run";
  }
  return "";
}

}  // namespace quotient::report
