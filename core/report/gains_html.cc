// The section of the page about gains.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/report/gain_text.h"
#include "core/report/html.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

constexpr size_t kMostRules = 60;
constexpr size_t kMostRegions = 40;

std::string Row(const Report& report, absl::string_view what, double saved_us, bool estimated,
                absl::string_view style) {
  return absl::StrFormat(
      "<tr%s><td>%s</td><td class=\"num\">%s%s</td><td class=\"num\">%.1f %%</td></tr>", style,
      what, EstimateMark(estimated), TimeText(saved_us), PercentOfOriginal(report, saved_us));
}

std::string RegionRows(const Report& report, const RuleGain& gain) {
  std::string rows;
  for (size_t i = 0; i < std::min(gain.regions.size(), kMostRegions); ++i) {
    const RegionGain& region = gain.regions[i];
    const std::string times =
        region.sites.size() == 1 ? "" : absl::StrCat(region.sites.size(), " x ");
    absl::StrAppend(&rows, Row(report,
                               absl::StrCat("&emsp;", times, HtmlEscaped(ReplacementText(region)),
                                            ", ", HtmlEscaped(SitesText(region))),
                               region.saved_us(), gain.estimated, " class=\"soft\""));
  }
  if (gain.regions.size() > kMostRegions) {
    absl::StrAppend(&rows, "<tr class=\"soft\"><td colspan=\"3\">&emsp;and ",
                    gain.regions.size() - kMostRegions, " other kinds of places</td></tr>");
  }
  return rows;
}

}  // namespace

std::string GainsSection(const Report& report) {
  const std::vector<RuleGain>& gains = report.gains.by_rules;
  if (gains.empty()) return "";
  std::string rows;
  for (size_t i = 0; i < std::min(gains.size(), kMostRules); ++i) {
    const std::string rules = HtmlEscaped(RulesText(gains[i], gains[i].rules.size()));
    absl::StrAppend(&rows,
                    Row(report, absl::StrCat("<b>", rules, "</b>"), gains[i].saved_us(),
                        gains[i].estimated, ""),
                    RegionRows(report, gains[i]));
  }
  if (gains.size() > kMostRules) {
    absl::StrAppend(&rows, "<tr><td colspan=\"3\">and ", gains.size() - kMostRules,
                    " other sets of rules</td></tr>");
  }
  if (IsWorthListing(report, report.gains.others_us)) {
    absl::StrAppend(&rows,
                    Row(report, kOthersText, report.gains.others_us, HasEstimates(report), ""));
  }
  return absl::StrCat(
      "<section id=\"where\"><h2>What gained</h2><table><tr><th>rules, and what they "
      "replaced</th><th "
      "class=\"num\">predicted saving</th><th class=\"num\">of all</th></tr>",
      rows, "</table></section>");
}

}  // namespace quotient::report
