// Writes the report as a table for a terminal.

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/base/counted.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/kernels/device_name.h"
#include "core/report/decision_text.h"
#include "core/report/gain_text.h"
#include "core/report/like_nodes.h"
#include "core/report/name_text.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

constexpr size_t kMostRows = 20;
constexpr size_t kMostSteps = 6;
constexpr size_t kMostRules = 4;    // Names of rules in a line.
constexpr size_t kMostRegions = 4;  // Kinds of places of a set of rules.
constexpr size_t kMostText = 100;   // Characters of a line about a place.
constexpr size_t kLeastSite = 50;   // Room for its node in that line, whatever the rest takes.

std::string Microseconds(double us) {
  if (std::abs(us) >= 1e4) return absl::StrFormat("%.2f ms", us / 1e3);
  return absl::StrFormat("%.1f us", us);
}

// The time of runs, if there is one.
std::string OfRuns(const Measured& measured, double us) {
  if (measured.runs == 0) return "not run";
  return measured.disturbed ? "disturbed" : Microseconds(us);
}

std::string Cell(const std::optional<double>& us, absl::string_view source) {
  return us ? absl::StrCat(EstimateMark(source == "estimated"), Microseconds(*us)) : "-";
}

std::string Predicted(const GraphFigures& figures) {
  return absl::StrCat(EstimateMark(figures.kernels.estimated > 0),
                      Microseconds(figures.predicted_us));
}

void AppendFigureRow(absl::string_view label, absl::string_view before, absl::string_view after,
                     absl::string_view gain, std::string* out) {
  absl::StrAppendFormat(out, "  %-12s %14s %14s %10s\n", label, before, after, gain);
}

// Between which percentiles most runs lie, of graphs whose times are known.
void AppendRange(const Measured& before, const Measured& after, std::string* out) {
  if (!before.has_times()) return;
  const bool both = after.has_times();
  AppendFigureRow("  p10..p90", absl::StrCat(Microseconds(before.p10_us), ".."),
                  both ? absl::StrCat(Microseconds(after.p10_us), "..") : "", "", out);
  AppendFigureRow("", Microseconds(before.p90_us), both ? Microseconds(after.p90_us) : "", "", out);
}

void AppendMeasured(const Report& report, std::string* out) {
  const Measured &before = report.original.measured, &after = report.optimized.measured;
  const bool by_cpu_time = IsGainOfCpuTime(report);
  const std::string gain =
      report.knows_speedup() ? absl::StrFormat("%.1f %%", report.speedup_percent) : "unknown";
  AppendFigureRow("measured", OfRuns(before, before.median_us), OfRuns(after, after.median_us),
                  by_cpu_time ? "" : gain, out);
  if (by_cpu_time) AppendFigureRow("CPU time", "", "", gain, out);
  if (report.speedup_interval.has_value()) {
    AppendFigureRow("  between*", "", "",
                    absl::StrFormat("%.1f to %.1f %%", report.speedup_interval->low,
                                    report.speedup_interval->high),
                    out);
  }
  AppendRange(before, after, out);
  if (report.speedup_interval.has_value()) {
    absl::StrAppend(out, "  * with 99 % confidence, ", IntervalText(report), "\n");
  }
}

void AppendFigures(const Report& report, std::string* out) {
  const GraphFigures &before = report.original, &after = report.optimized;
  AppendFigureRow("", "original", "optimized", "gain", out);
  AppendFigureRow("nodes", absl::StrCat(before.nodes), absl::StrCat(after.nodes), "", out);
  AppendFigureRow("predicted", Predicted(before), Predicted(after),
                  report.predicted_speedup_percent.has_value()
                      ? absl::StrFormat("%.1f %%", *report.predicted_speedup_percent)
                      : "unknown",
                  out);
  if (report.ran()) AppendMeasured(report, out);
}

void AppendGain(const Report& report, double saved_us, bool estimated, absl::string_view what,
                std::string* out) {
  absl::StrAppendFormat(out, "  %12s %8s  %s\n",
                        absl::StrCat(EstimateMark(estimated), Microseconds(saved_us)),
                        absl::StrFormat("%.1f %%", PercentOfOriginal(report, saved_us)), what);
}

// At most `most` characters; the end of a longer text becomes "..".
std::string Cut(const std::string& text, size_t most) {
  return text.size() <= most ? text : absl::StrCat(text.substr(0, most - 2), "..");
}

// How often which kernels were replaced, and where, in at most kMostText characters. The node tells
// places apart, so it has its room even where the kernels have to be cut.
std::string RegionText(const RegionGain& region) {
  const std::string what =
      Escaped(absl::StrCat("  x ", region.sites.size(), "  ", ReplacementText(region)));
  const size_t most = kMostText - 2;  // Without the comma between them.
  const size_t left = most - std::min(what.size(), most);
  const std::string where = ShortName(SitesText(region), std::max(left, kLeastSite));
  return absl::StrCat(Cut(what, most - where.size()), ", ", where);
}

void AppendRegions(const Report& report, const RuleGain& gain, std::string* out) {
  for (size_t i = 0; i < std::min(gain.regions.size(), kMostRegions); ++i) {
    const RegionGain& region = gain.regions[i];
    AppendGain(report, region.saved_us(), gain.estimated, RegionText(region), out);
  }
  if (gain.regions.size() > kMostRegions) {
    absl::StrAppendFormat(out, "%27s... and %d more kinds of places\n", "",
                          gain.regions.size() - kMostRegions);
  }
}

// What was gained by which rules, and where. What changes nearly nothing is one line.
void AppendGains(const Report& report, std::string* out) {
  if (report.gains.by_rules.empty()) return;
  absl::StrAppendFormat(out, "\n  %12s %8s  %s\n", "saved", "of all", "predicted, by rules");
  int64_t left = 0;
  double left_us = 0;
  for (const RuleGain& gain : report.gains.by_rules) {
    if (!IsWorthListing(report, gain.saved_us())) {
      ++left;
      left_us += gain.saved_us();
      continue;
    }
    AppendGain(report, gain.saved_us(), gain.estimated, RulesText(gain, kMostRules), out);
    AppendRegions(report, gain, out);
  }
  if (left > 0) {
    AppendGain(report, left_us, HasEstimates(report),
               absl::StrCat(Counted(left, "other combination"), " of rules"), out);
  }
  if (IsWorthListing(report, report.gains.others_us)) {
    AppendGain(report, report.gains.others_us, HasEstimates(report), kOthersText, out);
  }
}

// The nodes whose cost changed, with the largest change first. Nodes that are alike count together.
std::vector<LikeNodes> ChangedNodes(const Report& report) {
  std::vector<const NodeCost*> changed;
  for (const NodeCost& node : report.nodes) {
    if (node.before_us != node.after_us) changed.push_back(&node);
  }
  std::vector<LikeNodes> groups = GroupLikeNodes(changed);
  std::ranges::stable_sort(groups, std::greater<>(), [](const LikeNodes& group) {
    const NodeCost& node = *group.first;
    return static_cast<double>(group.count) *
           std::abs(node.before_us.value_or(0) - node.after_us.value_or(0));
  });
  return groups;
}

std::string NameText(const LikeNodes& nodes) {
  constexpr size_t kWidth = 40;
  const std::string times = TimesText(nodes);
  return absl::StrCat(ShortName(nodes.first->name, kWidth - times.size()), times);
}

void AppendNodes(const Report& report, std::string* out) {
  const std::vector<LikeNodes> changed = ChangedNodes(report);
  if (changed.empty()) return;
  absl::StrAppendFormat(out, "\n  %-40s %-20s %12s %12s\n", "node", "op", "before", "after");
  for (size_t i = 0; i < std::min(changed.size(), kMostRows); ++i) {
    const NodeCost& node = *changed[i].first;
    absl::StrAppendFormat(out, "  %-40s %-20s %12s %12s\n", NameText(changed[i]),
                          Escaped(node.op).substr(0, 20), Cell(node.before_us, node.before_source),
                          Cell(node.after_us, node.after_source));
  }
  if (changed.size() > kMostRows) {
    absl::StrAppendFormat(out, "  ... and %d more\n", changed.size() - kMostRows);
  }
}

// Shows how the gain, in e-node costs, grew during the search: the first improvement, the last one,
// and a few in between.
void AppendImprovements(const std::vector<SearchStep>& steps, std::string* out) {
  const size_t gains = steps.empty() ? 0 : steps.size() - 1;
  if (gains == 0 || !(steps.front().cost_us > 0)) return;
  const size_t shown = std::min(gains, kMostSteps);
  std::vector<std::string> texts;
  for (size_t i = 0; i < shown; ++i) {
    const SearchStep& step = steps[shown == 1 ? gains : 1 + i * (gains - 1) / (shown - 1)];
    texts.push_back(absl::StrFormat(
        "%.1f %% @ %.3g s", 100 * (1 - step.cost_us / steps.front().cost_us), step.seconds));
  }
  absl::StrAppend(out, "  search: gain by e-nodes ", absl::StrJoin(texts, ", "), "\n");
}

void AppendSearch(const SearchFigures& search, std::string* out) {
  absl::StrAppendFormat(out, "  search: %s, %.1f s, %s, ", search.strategy, search.seconds,
                        Counted(search.enodes, "e-node"));
  const std::string tried = TriedText(search);
  if (!tried.empty()) absl::StrAppend(out, tried, ", ");
  absl::StrAppend(out, Counted(search.kernels_measured, "kernel"), " measured, ended by ",
                  InWords(search.stop_reason), "\n");
  AppendImprovements(search.best_costs, out);
  if (search.resumed.times > 0) absl::StrAppend(out, "  search: ", ResumedText(search), "\n");
}

// Notes are not shortened, because a note may end with advice on what to do.
void AppendNotes(const std::vector<std::string>& notes, std::string* out) {
  for (const std::string& note : notes) {
    const std::string line = absl::StrReplaceAll(note, {{"\n", " "}});
    absl::StrAppend(out, "  note: ", Printable(line), "\n");
  }
}

void AppendWhyNot(const Report& report, std::string* out) {
  for (const std::string& line : WhyNotLines(report)) {
    absl::StrAppend(out, "  ", Printable(absl::StrReplaceAll(line, {{"\n", " "}})), "\n");
  }
}

}  // namespace

std::vector<std::string> WhyNotLines(const Report& report) {
  std::vector<std::string> lines;
  for (const WhyNot& answer : report.why_not) {
    lines.push_back(absl::StrCat("why not ", answer.rule, " at ", answer.node, ": ", answer.text));
    for (const std::string& detail : answer.details) lines.push_back(absl::StrCat("  ", detail));
  }
  return lines;
}

std::string CheckText(const Verification& check) {
  if (check.inputs == 0) return "nothing to compare, the original came back";
  return absl::StrFormat(
      "%s on %s, largest relative error %.2g (limit %.2g)", check.passed ? "equal" : "NOT EQUAL",
      Counted(check.inputs, "random input"), check.max_relative_error, check.tolerance);
}

std::vector<std::string> BindingLines(const Verification& check) {
  std::vector<std::string> lines;
  for (const CheckedBinding& binding : check.bindings) {
    std::string shapes;
    for (const auto& [name, dims] : binding.shapes) {
      absl::StrAppend(&shapes, shapes.empty() ? "" : ", ", name, "=", absl::StrJoin(dims, ","));
    }
    lines.push_back(
        absl::StrCat("also at ", shapes, binding.kind.empty() ? "" : " (", binding.kind,
                     binding.kind.empty() ? "" : ")", ": ", Counted(binding.nodes, "node"),
                     binding.cut > 0 ? absl::StrCat(", ", binding.cut, " cut out") : ""));
  }
  if (!check.bindings_note.empty()) lines.push_back(check.bindings_note);
  return lines;
}

absl::string_view EstimateMark(bool estimated) { return estimated ? "~" : ""; }

std::string CutNodesText(const Report& report) {
  if (report.cut_nodes == 0) return "";
  return absl::StrCat("without ", Counted(report.cut_nodes, "node"),
                      report.cut_nodes == 1 ? " that is" : " that are", " not understood: what ",
                      report.cut_nodes == 1 ? "it takes" : "they take",
                      report.cut_nodes_run && report.ran() ? " is measured, but in no prediction"
                                                           : " is in no figure");
}

bool HasEstimates(const Report& report) {
  return report.original.kernels.estimated > 0 || report.optimized.kernels.estimated > 0;
}

bool KnowsKernels(const Report& report) {
  return report.original.kernels.measured > 0 || report.optimized.kernels.measured > 0;
}

std::string UnmeasuredText(const Report& report) {
  if (!report.recorded.has_value()) {
    return absl::StrCat("Nothing was measured: every cost comes from the analytic model ",
                        report.device, ".");
  }
  const auto share = [](const KernelCounts& kernels) {
    return absl::StrCat(kernels.measured, " of ", Counted(kernels.total(), "kernel"));
  };
  const std::string recorded =
      absl::StrCat(Escaped(report.recorded->device), ", ", Escaped(report.recorded->time));
  const std::string counts = absl::StrCat(share(report.original.kernels), " of the original and ",
                                          share(report.optimized.kernels), " of the result");
  if (!KnowsKernels(report)) {
    return absl::StrCat("Nothing was measured now, and what was recorded on ", recorded,
                        ", has the costs of ", counts, ": all are estimated.");
  }
  return absl::StrCat("Nothing was measured now: costs were recorded on ", recorded, ", those of ",
                      counts, HasEstimates(report) ? "; the others are estimated." : ".");
}

std::string DevicePlaceText(const Report& report) {
  if (!report.measured && !report.recorded.has_value()) return "";
  return absl::StrCat(kernels::DeviceName(report.fingerprint), ", ",
                      Counted(report.threads, "thread"));
}

absl::string_view DevicePlaceHeading(const Report& report) {
  if (report.recorded.has_value()) return "Recorded on";
  if (report.ran()) return "Measured on";
  return KnowsKernels(report) ? "Only kernels were measured on" : "Nothing was measured on";
}

std::string TriedText(const SearchFigures& search) {
  if (search.simulations == 0) return "";
  return absl::StrCat(Counted(search.simulations, "simulation"), ", ",
                      Counted(search.states, "different state"));
}

std::string ResumedText(const SearchFigures& search) {
  const SearchResumption& resumed = search.resumed;
  if (resumed.times == 0) return "";
  const std::string times =
      resumed.times == 1 ? "once" : absl::StrCat(resumed.times, " times, the last time");
  return absl::StrFormat("resumed %s with what %s had found in %.1f s", times,
                         Counted(resumed.simulations, "simulation"), resumed.seconds);
}

std::string ToTable(const Report& report) {
  std::string out =
      absl::StrCat(Escaped(report.model_name), ": ", InWords(OutcomeName(report.outcome)), " on ",
                   kernels::ShortDevice(report.device));
  const std::string grounds = GroundsText(report);
  absl::StrAppend(&out, grounds.empty() ? "" : absl::StrCat(" (", grounds, ")"), "\n");
  const std::string place = DevicePlaceText(report);
  if (!place.empty()) {
    absl::StrAppend(&out, DevicePlaceHeading(report), ": ", Escaped(place), ", by Quotient ",
                    Escaped(report.engine_version), "\n");
  }
  out += "\n";
  if (!report.passed_through.empty()) {
    AppendWhyNot(report, &out);
    AppendNotes(report.notes, &out);
    return out;
  }
  AppendFigures(report, &out);
  if (report.cut_nodes > 0) {
    absl::StrAppend(&out, "  ", CutNodesText(report), "\n");
  }
  if (HasEstimates(report)) {
    absl::StrAppend(&out, "  ~ estimated and not measured, at least in part\n");
  }
  if (!report.measured) absl::StrAppend(&out, "  ", UnmeasuredText(report), "\n");
  AppendGains(report, &out);
  AppendNodes(report, &out);
  for (const std::string& line : DecisionLines(report.considered)) {
    absl::StrAppend(&out, "\n  decided: ", line);
  }
  absl::StrAppend(&out, "\n  checked: ", CheckText(report.verification), "\n");
  for (const std::string& line : BindingLines(report.verification)) {
    absl::StrAppend(&out, "           ", Escaped(line), "\n");
  }
  AppendSearch(report.search, &out);
  const std::string rules = RulesText(report);
  if (!rules.empty()) absl::StrAppend(&out, "  rules: ", rules, "\n");
  AppendWhyNot(report, &out);
  AppendNotes(report.notes, &out);
  return out;
}

}  // namespace quotient::report
