#include "core/report/explanation_words.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

std::string RulesText(const std::vector<std::string>& rules) {
  constexpr std::ptrdiff_t kMost = 5;
  const std::ptrdiff_t shown = std::min(kMost, std::ssize(rules));
  const std::ptrdiff_t left = std::ssize(rules) - shown;
  return absl::StrCat(absl::StrJoin(rules.begin(), rules.begin() + shown, ", "),
                      left > 0 ? absl::StrCat(" and ", left, " more") : "");
}

std::string SavedText(double us) {
  return us < 0 ? absl::StrFormat("predicted to cost %.1f us more there", -us)
                : absl::StrFormat("predicted to save %.1f us there", us);
}

}  // namespace

std::string DoneText(const WhatWasDone& done) {
  const std::string rules =
      done.rules.empty() ? "no rule, but constants folded, equal parts merged or other layouts"
                         : RulesText(done.rules);
  switch (done.remedy) {
    case Remedy::kRewritten:
      return absl::StrCat("Quotient's result has other kernels there: ", rules, ", ",
                          SavedText(done.saved_us));
    case Remedy::kTried:
      return absl::StrCat("Quotient tried ", rules, ", ", SavedText(done.saved_us),
                          ", in a graph that was not taken");
    case Remedy::kNone:
      break;
  }
  return "Quotient left it: no graph that it tried has other kernels there";
}

std::string PeakText(const Peak& peak) {
  std::vector<std::string> parts = {absl::StrFormat("%.0f GFLOP/s", peak.operations_per_us / 1e3)};
  if (!peak.bandwidth.empty()) {
    parts.push_back(
        absl::StrFormat("%.0f GB/s in the caches", peak.bandwidth.front().bytes_per_us / 1e3));
    parts.push_back(
        absl::StrFormat("%.0f GB/s from memory", peak.bandwidth.back().bytes_per_us / 1e3));
  }
  parts.push_back(absl::StrFormat("%.1f us to start a kernel", peak.start_us));
  return absl::StrJoin(parts, ", ");
}

std::string BoundText(const KernelsBelowPeak& kernels) {
  if (kernels.bound == "start") return "that of starting it";
  return kernels.bound == "arithmetic" ? "that of its arithmetic"
                                       : "that of what it reads and writes";
}

std::string ResultText(const Report& report) {
  if (report.outcome == Outcome::kNoImprovement) {
    return "Quotient returns the model as it is.";
  }
  const std::string predicted =
      report.predicted_speedup_percent.has_value()
          ? absl::StrFormat("%.1f %% predicted", *report.predicted_speedup_percent)
          : "";
  const std::string measured =
      report.knows_speedup() ? absl::StrFormat("%.1f %% measured", report.speedup_percent) : "";
  return absl::StrCat("Quotient's result gains ", measured,
                      measured.empty() || predicted.empty() ? "" : ", ", predicted,
                      ". The first line speaks of what is left, the times below of the original.");
}

}  // namespace quotient::report
