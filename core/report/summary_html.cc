// The head of the page: the verdict, and the main figures as cards.

#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/base/counted.h"
#include "core/report/decision_text.h"
#include "core/report/html.h"
#include "core/report/name_text.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

std::string Predicted(const GraphFigures& figures) {
  return absl::StrCat(EstimateMark(figures.kernels.estimated > 0), TimeText(figures.predicted_us));
}

std::string Card(absl::string_view label, absl::string_view value, absl::string_view more) {
  return absl::StrCat("<div class=\"card\"><span class=\"soft\">", label, "</span><b>", value,
                      "</b><span class=\"soft\">", more, "</span></div>");
}

absl::string_view Checked(const Verification& check) {
  if (check.inputs == 0) return "not needed";
  return check.passed ? "yes" : "NOT EQUAL";
}

absl::string_view WhyNoImprovement(const Report& report) {
  if (!report.passed_through.empty()) return "Nothing was tried (see the notes)";
  if (report.recorded.has_value()) {
    return KnowsKernels(report)
               ? "Nothing is cheaper by the times that were recorded (nothing was measured now)"
               : "Nothing is cheaper by estimates, the snapshot having none of these kernels "
                 "(nothing was measured now)";
  }
  if (!report.measured) return "Nothing is cheaper by the analytic model (nothing was measured)";
  return report.ran() ? "Nothing was faster" : "Nothing could be run (see the notes)";
}

absl::string_view HowKnown(const Report& report) {
  if (report.measured) return "measured end to end, both graphs interleaved in one process";
  if (report.recorded.has_value()) {
    if (!KnowsKernels(report)) {
      return "predicted by estimates alone: the snapshot has none of these kernels; nothing was "
             "measured now";
    }
    return HasEstimates(report)
               ? "predicted from recorded times and estimates; nothing was measured now"
               : "predicted from recorded times; nothing was measured now";
  }
  return "predicted by an analytic model; nothing was measured";
}

// What was gained, as far as it is known.
std::string GainText(const Report& report) {
  if (report.measured) {
    const std::string measured = MeasuredGainText(report);
    return measured.empty() ? "Improved" : measured;
  }
  return report.predicted_speedup_percent.has_value()
             ? absl::StrFormat("%.1f %% faster", *report.predicted_speedup_percent)
             : "Improved";
}

std::string Verdict(const Report& report) {
  if (report.outcome == Outcome::kNoImprovement) {
    return absl::StrCat("<div class=\"verdict\">No improvement</div><div class=\"soft\">",
                        WhyNoImprovement(report), ", so the model came back byte for byte.</div>");
  }
  const std::string grounds = report.measured ? GroundsText(report) : "";
  const std::string how =
      grounds.empty() ? std::string(HowKnown(report)) : grounds + " (see how it was decided)";
  const std::string without = CutNodesText(report);
  const bool is_whole = without.empty() || (report.measured && report.cut_nodes_run);
  return absl::StrCat("<div class=\"verdict gain\">", GainText(report), is_whole ? "" : " in part",
                      "</div><div class=\"soft\">", how, without.empty() ? "" : ", ", without,
                      "</div>");
}

// What one run of a graph takes.
std::string MeasuredCard(absl::string_view label, const Measured& measured) {
  const std::string runs = Counted(measured.runs, "run");
  if (measured.disturbed) {
    return Card(label, "no time", absl::StrCat("other work disturbed its ", runs));
  }
  return Card(label, TimeText(measured.median_us), absl::StrCat(runs, ", median"));
}

}  // namespace

std::string SummarySection(const Report& report) {
  if (!report.passed_through.empty()) {
    return absl::StrCat("<section>", Verdict(report), "</section>");
  }
  const Verification& check = report.verification;
  const std::vector<std::string> bindings = BindingLines(check);
  const SearchFigures& search = report.search;
  std::string cards;
  if (report.ran()) {
    absl::StrAppend(&cards, MeasuredCard("original", report.original.measured));
    if (report.optimized.measured.runs > 0) {
      absl::StrAppend(&cards, MeasuredCard("optimized", report.optimized.measured));
    }
  }
  absl::StrAppend(
      &cards,
      Card("predicted",
           absl::StrCat(Predicted(report.original), " → ", Predicted(report.optimized)),
           report.predicted_speedup_percent.has_value()
               ? absl::StrFormat("gain %.1f %%, sums of kernels", *report.predicted_speedup_percent)
               : "gain unknown: estimates differ"));
  absl::StrAppend(&cards,
                  Card("nodes", absl::StrCat(report.original.nodes, " → ", report.optimized.nodes),
                       absl::StrCat(Counted(std::ssize(report.journal), "rewrite"), " used")));
  absl::StrAppend(&cards,
                  Card("checked", Checked(check),
                       HtmlEscaped(absl::StrCat(CheckText(check), bindings.empty() ? "" : "; ",
                                                absl::StrJoin(bindings, "; ")))));
  absl::StrAppend(&cards, Card("search", HtmlEscaped(search.strategy),
                               absl::StrFormat("%.1f s, %s, ended by %s", search.seconds,
                                               Counted(search.enodes, "e-node"),
                                               HtmlEscaped(InWords(search.stop_reason)))));
  return absl::StrCat("<section>", Verdict(report), "</section><section class=\"cards\">", cards,
                      "</section>");
}

}  // namespace quotient::report
