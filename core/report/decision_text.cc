#include "core/report/decision_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace quotient::report {
namespace {

std::string Reason(const Considered& candidate) {
  switch (candidate.grounds) {
    case Grounds::kNotSure:
      return "a gain of half a percent is not sure";
    case Grounds::kSurelySlower:
      return "it is surely slower";
    case Grounds::kMeasured:
      return "it was measured to be faster";
    case Grounds::kSubsetOfWork:
      return "it does a subset of the original's work and is not surely slower";
    case Grounds::kPredictedAndMeasured:
      return absl::StrFormat("%s together make a gain %.0f %% sure",
                             candidate.cpu_time_percent.has_value() ? "prediction and CPU time"
                                                                    : "prediction and measurement",
                             100 * candidate.probability.value_or(0));
    case Grounds::kPredicted:
      return "it is predicted to be faster";
  }
  return "";
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
  if (candidate.measured_percent.has_value() || candidate.cpu_time_percent.has_value()) {
    absl::StrAppendFormat(&text, ", expected %.1f %%", candidate.expected_percent);
  }
  return text;
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
  for (const Grounds grounds :
       {Grounds::kNotSure, Grounds::kSurelySlower, Grounds::kMeasured, Grounds::kSubsetOfWork,
        Grounds::kPredictedAndMeasured, Grounds::kPredicted}) {
    if (GroundsName(grounds) == name) return grounds;
  }
  return std::nullopt;
}

std::vector<std::string> DecisionLines(const Report& report) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < report.considered.size(); ++i) {
    const Considered& candidate = report.considered[i];
    const std::string without =
        candidate.left_out.empty()
            ? ""
            : absl::StrCat(" without ", absl::StrJoin(candidate.left_out, ", "));
    lines.push_back(absl::StrCat("candidate ", i + 1, without, " (", Figures(candidate), ") ",
                                 Verdict(candidate)));
  }
  return lines;
}

absl::string_view IntervalText(const Report& report) {
  const auto taken = std::ranges::find_if(report.considered, &Considered::taken);
  if (taken != report.considered.end() && taken->cpu_time_percent.has_value()) {
    return "by the CPU time of runs on one thread, since other work disturbed the machine";
  }
  return "by the lower quartiles of the runs, which noise moves less than medians";
}

std::string GroundsText(const Report& report) {
  const auto taken = std::ranges::find_if(report.considered, &Considered::taken);
  if (report.outcome != Outcome::kImproved || taken == report.considered.end()) return "";
  switch (taken->grounds) {
    case Grounds::kNotSure:
    case Grounds::kSurelySlower:
    case Grounds::kMeasured:
      return "";
    case Grounds::kSubsetOfWork:
      return "it does only a part of the work; the measurement alone does not tell";
    case Grounds::kPredictedAndMeasured:
      return "by prediction and measurement together; the measurement alone does not tell";
    case Grounds::kPredicted:
      return "by prediction; nothing was run";
  }
  return "";
}

}  // namespace quotient::report
