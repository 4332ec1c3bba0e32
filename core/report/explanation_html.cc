// The chapter of the page about what the runtime made of the model.

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/counted.h"
#include "core/report/explanation.h"
#include "core/report/explanation_words.h"
#include "core/report/html.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

constexpr size_t kMostRows = 60;
constexpr size_t kMostSites = 8;

std::string TimeCells(const Explanation& explanation, double us, bool estimated) {
  const double all = explanation.original.us;
  return absl::StrFormat("<td class=\"num\">%s%s</td><td class=\"num\">%.1f %%</td>",
                         EstimateMark(estimated), TimeText(us), all > 0 ? 100 * us / all : 0);
}

// A table of the first rows; `heads` and rows are HTML.
std::string Table(absl::string_view title, absl::string_view heads, size_t rows,
                  const std::function<std::string(size_t)>& row) {
  if (rows == 0) return "";
  std::string html = absl::StrCat("<h3>", title, "</h3><table><tr>", heads, "</tr>");
  for (size_t i = 0; i < std::min(rows, kMostRows); ++i) {
    absl::StrAppend(&html, "<tr>", row(i), "</tr>");
  }
  absl::StrAppend(&html, "</table>");
  if (rows > kMostRows) {
    absl::StrAppend(&html, "<p class=\"soft\">and ", rows - kMostRows, " more</p>");
  }
  return html;
}

std::string Sites(const MissedFusion& missed) {
  std::string html;
  for (size_t i = 0; i < std::min(missed.sites.size(), kMostSites); ++i) {
    absl::StrAppend(&html, i == 0 ? "" : ", ", HtmlEscaped(missed.sites[i]));
  }
  if (missed.sites.size() > kMostSites) {
    absl::StrAppend(&html, " and ", missed.sites.size() - kMostSites, " more");
  }
  return html;
}

std::string MissedTable(const Explanation& explanation) {
  return Table("Not fused, and why",
               "<th>what</th><th class=\"num\">time</th><th class=\"num\">of all</th>"
               "<th>reason</th><th>what Quotient did</th>",
               explanation.missed.size(), [&](size_t i) {
                 const MissedFusion& missed = explanation.missed[i];
                 return absl::StrCat("<td>", HtmlEscaped(missed.what), ", ",
                                     Counted(std::ssize(missed.sites), "place"),
                                     "<br><span class=\"soft\">", Sites(missed), "</span></td>",
                                     TimeCells(explanation, missed.us, missed.estimated), "<td>",
                                     HtmlEscaped(missed.text), "</td><td>",
                                     HtmlEscaped(DoneText(missed.done)), "</td>");
               });
}

std::string KernelsTable(const Explanation& explanation) {
  if (!explanation.peak.has_value()) return "";
  return Table(
      absl::StrCat("Farthest from the peak: ", PeakText(*explanation.peak)),
      "<th>kernel</th><th class=\"num\">time</th><th class=\"num\">of all</th>"
      "<th class=\"num\">at the peak</th><th class=\"num\">share</th><th></th>"
      "<th>what Quotient did</th>",
      explanation.below_peak.size(), [&](size_t i) {
        const KernelsBelowPeak& kernels = explanation.below_peak[i];
        return absl::StrCat(
            "<td>", kernels.places, " x ", HtmlEscaped(kernels.kernel), " ",
            HtmlEscaped(kernels.operands), "<br><span class=\"soft\">", HtmlEscaped(kernels.site),
            "</span></td>", TimeCells(explanation, kernels.us, kernels.estimated),
            absl::StrFormat("<td class=\"num\">%s</td><td class=\"num\">%.0f %%</td>",
                            TimeText(kernels.at_peak_us), 100 * kernels.share()),
            "<td>", BoundText(kernels), "</td><td>",
            kernels.done.remedy == Remedy::kNone ? "" : HtmlEscaped(DoneText(kernels.done)),
            "</td>");
      });
}

std::string FusedTable(const Explanation& explanation) {
  return Table("Fused",
               "<th>operators</th><th>kernel</th><th class=\"num\">places</th>"
               "<th class=\"num\">time</th><th class=\"num\">of all</th>",
               explanation.fused.size(), [&](size_t i) {
                 const FusedKernels& fused = explanation.fused[i];
                 return absl::StrCat("<td>", HtmlEscaped(fused.operators), "</td><td>",
                                     HtmlEscaped(fused.kernel), "</td><td class=\"num\">",
                                     fused.places, "</td>",
                                     TimeCells(explanation, fused.us, fused.estimated));
               });
}

std::string ByRuntimeTable(const Explanation& explanation) {
  return Table(
      "Rewrites that leave the kernels as they are: the runtime makes them itself, or "
      "undoes them",
      "<th>rule</th><th class=\"num\">places</th>", explanation.by_runtime.size(), [&](size_t i) {
        const RuntimeRewrite& rewrite = explanation.by_runtime[i];
        return absl::StrCat("<td>", HtmlEscaped(rewrite.rule), "</td><td class=\"num\">",
                            rewrite.places, "</td>");
      });
}

}  // namespace

std::string ExplanationSection(const Report& report) {
  if (!report.explanation.has_value()) return "";
  const Explanation& explanation = *report.explanation;
  return absl::StrCat("<section id=\"explanation\"><h2>What the runtime made of it</h2><p>",
                      HtmlEscaped(VerdictText(explanation)), " ", HtmlEscaped(ResultText(report)),
                      "</p>", MissedTable(explanation), KernelsTable(explanation),
                      FusedTable(explanation), ByRuntimeTable(explanation),
                      "<p class=\"soft\">Times are predicted: sums of kernels that were each timed "
                      "alone.</p></section>");
}

}  // namespace quotient::report
