// Writes the report as one self-contained page, without scripts or external resources. Every name
// is escaped.

#include "core/report/html.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/utf8.h"
#include "core/kernels/device_name.h"
#include "core/report/cost_line.h"
#include "core/report/decision_text.h"
#include "core/report/like_nodes.h"
#include "core/report/name_text.h"
#include "core/report/report.h"
#include "core/report/rule_figures.h"

namespace quotient::report {
namespace {

constexpr size_t kMostBars = 60;
constexpr size_t kMostJournalRows = 500;

constexpr char kStyle[] = R"css(
:root{--ink:#1c2430;--soft:#5b6675;--line:#d9dfe7;--paper:#fff;--ground:#f4f6f9;--old:#9aa8ba;--new:#1f8a5b;--warn:#b3541e;--mark:#dff3e8;--link:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ink:#e6ebf2;--soft:#9aa6b6;--line:#34404f;--paper:#1a212b;--ground:#12171e;--old:#66758a;--new:#4cc38a;--warn:#f0a06a;--mark:#1f3d30;--link:#7db7f5}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1180px;margin:0 auto;padding:28px 20px 60px}h1{font-size:24px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:17px;margin:0 0 12px}
section{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:18px 20px;margin:16px 0;overflow-x:auto}
a{color:var(--link)}a:focus-visible{outline:3px solid var(--link);outline-offset:2px}nav{max-width:1180px;margin:0 auto;padding:16px 20px 0}nav a{margin-right:18px;white-space:nowrap}nav+main{padding-top:14px}
.soft{color:var(--soft)}.verdict{font-size:44px;font-weight:650;line-height:1.1;margin:10px 0 2px}.gain{color:var(--new)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:14px}.card{overflow-wrap:anywhere;min-width:0}.card b{display:block;font-size:20px;font-weight:600}
table{border-collapse:collapse;width:100%;font-size:14px}th{text-align:left;color:var(--soft);font-weight:500}th,td{padding:4px 8px;border-bottom:1px solid var(--line);vertical-align:top}td:first-child,td code{overflow-wrap:anywhere}
td.num,th.num{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}code{font:13px ui-monospace,monospace}
.bars td{border:0;padding:2px 8px}.bar{height:9px;border-radius:3px;margin:1px 0;min-width:1px}.before{background:var(--old)}.after{background:var(--new)}
h3{font-size:14px;margin:18px 0 6px;font-weight:500;overflow-wrap:anywhere}.pair{display:grid;grid-template-columns:fit-content(70%) 1fr;gap:32px}figure{margin:0;min-width:0;overflow-x:auto}figcaption{color:var(--soft);font-size:14px}
svg.graph{max-width:100%;height:auto}svg.chart{width:100%;max-width:640px;color:var(--new)}svg.graph text{font:12px system-ui,sans-serif;fill:var(--ink)}svg.graph .cost,svg.graph .bandlabel{text-anchor:end;fill:var(--soft);font-size:11px}svg.graph .bandlabel{text-anchor:middle;paint-order:stroke;stroke:var(--paper);stroke-width:8px}
svg.graph rect{stroke:var(--line);fill:var(--paper)}svg.graph rect.changed{fill:var(--mark);stroke:var(--new);stroke-width:2.5}svg.graph .edge{fill:none;stroke:var(--old)}svg.graph .dot{fill:var(--new);fill-opacity:.55;stroke:var(--new)}svg.graph .band{stroke:var(--line);stroke-dasharray:3 4}
.note{color:var(--warn)}.range{position:relative;height:26px;background:var(--ground);border-radius:4px;margin:3px 0}.range i{position:absolute;top:8px;height:10px;border-radius:3px;opacity:.55}.range u{position:absolute;top:3px;width:3px;height:20px;border-radius:2px}
progress{width:100%;min-width:90px;height:12px;accent-color:var(--new)}.phases{columns:6 110px}
@media(max-width:700px){main{padding:16px 10px 40px}nav{padding:12px 10px 0}section{padding:14px 12px}.pair{grid-template-columns:1fr}.verdict{font-size:32px}table:has(th:nth-child(4)){min-width:640px}table:has(th:nth-child(4)) td:first-child{min-width:120px}}
)css";

// Draws the range from p10 to p90 as a stripe with a mark at the median, for both graphs on the
// same scale, which starts at zero.
std::string Stripes(const Report& report) {
  const double top =
      1.05 * std::max(report.original.measured.p90_us, report.optimized.measured.p90_us);
  const auto stripe = [top](absl::string_view label, const Measured& m,
                            absl::string_view cls) -> std::string {
    if (!m.has_times() || !(top > 0)) return "";
    return absl::StrFormat(
        "<div class=\"soft\">%s: median %s, p10 %s, p90 %s</div><div class=\"range\"><i "
        "class=\"%s\" "
        "style=\"left:%.2f%%;width:%.2f%%\"></i><u class=\"%s\" style=\"left:%.2f%%\"></u></div>",
        label, TimeText(m.median_us), TimeText(m.p10_us), TimeText(m.p90_us), cls,
        100 * m.p10_us / top, std::max(0.3, 100 * (m.p90_us - m.p10_us) / top), cls,
        100 * m.median_us / top);
  };
  return absl::StrCat(stripe("original", report.original.measured, "before"),
                      stripe("optimized", report.optimized.measured, "after"));
}

std::string HowSure(const Report& report) {
  if (!report.passed_through.empty()) return "";
  const Verification& check = report.verification;
  const std::string times = report.ran()      ? "Whole runs of both graphs were timed, in turns."
                            : report.measured ? "Whole models could not be run (see the notes)."
                                              : HtmlEscaped(UnmeasuredText(report));
  const std::string checked =
      absl::StrCat("<p>Values: ", HtmlEscaped(CheckText(check)), ". ", times, "</p>");
  std::string gain;
  if (report.speedup_interval.has_value()) {
    gain = absl::StrFormat("<p>With 99 %% confidence it takes %.1f %% to %.1f %% less, %s.</p>",
                           report.speedup_interval->low, report.speedup_interval->high,
                           IntervalText(report));
  }
  std::string decided;
  for (const std::string& line : DecisionLines(report.considered)) {
    absl::StrAppend(&decided, "<li>", HtmlEscaped(line), "</li>");
  }
  if (!decided.empty()) decided = absl::StrCat("<p>How it was decided:</p><ul>", decided, "</ul>");
  return absl::StrCat("<section id=\"sure\"><h2>How sure</h2>", checked, gain, decided,
                      report.ran() ? Stripes(report) : "", "</section>");
}

std::string EstimateLegend(const Report& report) {
  if (!HasEstimates(report)) return "";
  return "<p class=\"soft\">~ estimated and not measured, at least in part</p>";
}

// Empty if neither cost was measured, because estimates have no spread.
std::string SpreadText(const NodeCost& node) {
  const bool measured = node.before_source == "measured" || node.after_source == "measured";
  return measured ? absl::StrFormat("±%.0f %%", 100 * node.spread) : "";
}

// "measured", or "measured → estimated" if the source before and after differs.
std::string SourceText(const NodeCost& node) {
  const std::string before = HtmlEscaped(node.before_source);
  const std::string after = HtmlEscaped(node.after_source);
  if (before == after || after.empty()) return before;
  return before.empty() ? after : absl::StrCat(before, " → ", after);
}

std::string Bars(const Report& report) {
  std::vector<const NodeCost*> costly;
  double largest = 0;
  for (const NodeCost& node : report.nodes) {
    const double cost = std::max(node.before_us.value_or(0), node.after_us.value_or(0));
    largest = std::max(largest, cost);
    if (cost > 0) costly.push_back(&node);
  }
  std::vector<LikeNodes> nodes = GroupLikeNodes(costly);
  std::ranges::stable_sort(nodes, std::greater<>(), [](const LikeNodes& group) {
    return std::max(group.first->before_us.value_or(0), group.first->after_us.value_or(0));
  });
  if (nodes.empty()) return "";
  std::string rows;
  for (size_t i = 0; i < std::min(nodes.size(), kMostBars); ++i) {
    const NodeCost& node = *nodes[i].first;
    const auto bar = [largest](const std::optional<double>& us, absl::string_view cls) {
      if (!us.has_value()) return std::string();
      return absl::StrFormat("<div class=\"bar %s\" style=\"width:%.2f%%\"></div>", cls,
                             100 * *us / largest);
    };
    const auto cell = [](const std::optional<double>& us, absl::string_view source) {
      return us.has_value() ? absl::StrCat(EstimateMark(source == "estimated"), TimeText(*us))
                            : "–";
    };
    absl::StrAppend(&rows, "<tr><td>", HtmlEscaped(node.name), TimesText(nodes[i]), "</td><td>",
                    HtmlEscaped(node.op), "</td><td style=\"width:38%\">",
                    bar(node.before_us, "before"), bar(node.after_us, "after"),
                    "</td><td class=\"num\">", cell(node.before_us, node.before_source),
                    "</td><td class=\"num\">", cell(node.after_us, node.after_source),
                    "</td><td class=\"num soft\">", SpreadText(node), "</td><td class=\"soft\">",
                    SourceText(node), "</td></tr>");
  }
  std::string more;
  if (nodes.size() > kMostBars) {
    more = absl::StrCat("<p class=\"soft\">and ", nodes.size() - kMostBars,
                        " cheaper kinds of nodes</p>");
  }
  return absl::StrCat(
      "<section><h2>Cost per node</h2><table class=\"bars\"><tr><th>node</th><th>operator</th><th>"
      "before / after</th><th class=\"num\">before</th><th class=\"num\">after</th><th "
      "class=\"num\">spread</th><th>source</th></tr>",
      rows, "</table>", more, EstimateLegend(report), "</section>");
}

// A row for each way in which rules were used, with the first place where they were: in a long
// graph, most rewrites are those of repeated blocks.
std::string Journal(const Report& report) {
  if (report.journal.empty()) return "";
  std::map<std::pair<std::string, std::vector<std::string>>, size_t> row_of;
  std::vector<std::pair<const JournalEntry*, int64_t>> ways;
  for (const JournalEntry& entry : report.journal) {
    const auto [row, fresh] = row_of.emplace(std::pair(entry.rule, entry.steps), ways.size());
    if (fresh) ways.emplace_back(&entry, 0);
    ++ways[row->second].second;
  }
  std::string rows;
  for (size_t i = 0; i < std::min(ways.size(), kMostJournalRows); ++i) {
    const auto& [entry, times] = ways[i];
    absl::StrAppend(&rows, "<tr><td>", HtmlEscaped(entry->rule), "</td><td class=\"num\">", times,
                    "</td><td>", HtmlEscaped(entry->site), "</td><td><code>",
                    HtmlEscaped(entry->before), "</code></td><td><code>", HtmlEscaped(entry->after),
                    "</code></td><td>", HtmlEscaped(absl::StrJoin(entry->steps, ", ")),
                    "</td></tr>");
  }
  return absl::StrCat(
      "<section><h2>Journal of rewrites</h2><table><tr><th>rule</th><th class=\"num\">times</th>"
      "<th>first at</th><th>before</th><th>after</th><th>by</th></tr>",
      rows, "</table><p class=\"soft\">The report in JSON has each of them.</p></section>");
}

std::string BestCostChart(const SearchFigures& search) {
  if (search.best_costs.size() < 2) return "";
  const double top = search.best_costs.front().cost_us;
  if (!(top > 0)) return "";
  const double first = std::max(1e-4, search.best_costs[1].seconds);
  const double last = std::max(search.grow_seconds, first * 1.1);
  const CostFrame frame = {.width = 640,
                           .height = 120,
                           .first_seconds = first,
                           .last_seconds = last,
                           .least_us = 0,
                           .most_us = top};
  return absl::StrFormat(
      "<svg viewBox=\"-2 -2 %.0f %.0f\" class=\"chart\" role=\"img\" aria-label=\"best cost over "
      "time\"><polyline fill=\"none\" stroke=\"currentColor\" points=\"%s\"/></svg><p "
      "class=\"soft\">Cost of the best graph so "
      "far over time (%.3f s to %.3f s, logarithmic), summed up over e-nodes, which is what the "
      "search goes by and no prediction: in the end a gain of %.1f %%.</p>",
      frame.width + 4, frame.height + 4, CostLine(frame, search.best_costs, last), first, last,
      100 * (1 - search.best_costs.back().cost_us / top));
}

// A table of the rules that had a match, what that took, and what came of it.
std::string RulesTable(const Report& report) {
  if (report.rules.empty()) return "";
  std::string rows;
  for (const std::string& rule : RulesByWorth(report.rules)) {
    const RuleFigures& figures = report.rules.at(rule);
    absl::StrAppend(&rows, "<tr><td>", HtmlEscaped(rule), "</td>");
    for (const int64_t count : {figures.matches, figures.applied, figures.enodes, figures.uses}) {
      absl::StrAppend(&rows, "<td class=\"num\">", count, "</td>");
    }
    for (const double saved_us : {figures.saved_us, figures.saved_alone_us}) {
      absl::StrAppendFormat(&rows, "<td class=\"num\">%.1f</td>", saved_us);
    }
    rows += "</tr>";
  }
  return absl::StrCat(
      "<p>", RulesText(report), ".</p><table><tr><th>rule</th><th class=\"num\">matches</th>",
      "<th class=\"num\">changed the e-graph</th><th class=\"num\">e-nodes made</th>",
      "<th class=\"num\">uses in the result</th><th class=\"num\">saved, us</th>",
      "<th class=\"num\">of it alone, us</th></tr>", rows,
      "</table><p class=\"soft\">A match that is a step of several rewrites counts for each of "
      "them, and what several rules saved together counts for each of them, too.</p>");
}

std::string WhyNotSection(const Report& report) {
  if (report.why_not.empty()) return "";
  std::string items;
  for (const WhyNot& answer : report.why_not) {
    absl::StrAppend(&items, "<li><b>", HtmlEscaped(answer.rule), " at ", HtmlEscaped(answer.node),
                    "</b>: ", HtmlEscaped(answer.text));
    for (const std::string& detail : answer.details) {
      absl::StrAppend(&items, "<br><span class=\"soft\">", HtmlEscaped(detail), "</span>");
    }
    absl::StrAppend(&items, "</li>");
  }
  return absl::StrCat("<section><h2>Why not</h2><ul>", items, "</ul></section>");
}

std::string SearchSection(const Report& report) {
  const SearchFigures& search = report.search;
  const std::string tried =
      search.simulations == 0 ? "" : absl::StrCat("<p>", TriedText(search), ".</p>");
  const std::string resumed =
      search.resumed.times == 0 ? ""
                                : absl::StrCat("<p>The search was ", ResumedText(search), ".</p>");
  const std::string content =
      absl::StrCat(tried, resumed, BestCostChart(search), RulesTable(report));
  if (content.empty()) return "";
  return absl::StrCat("<section><h2>The search</h2>", content, "</section>");
}

std::string Recorded(const Report& report) {
  if (!report.recorded.has_value()) return "";
  return absl::StrCat("Recorded on ", HtmlEscaped(report.recorded->device), ", ",
                      HtmlEscaped(report.recorded->time), ", by engine ",
                      HtmlEscaped(report.recorded->engine), "<br>");
}

std::string Place(const Report& report) {
  const std::string place = DevicePlaceText(report);
  if (place.empty()) return "";
  return absl::StrCat(DevicePlaceHeading(report), " ", HtmlEscaped(place), "<br>");
}

std::string Circumstances(const Report& report) {
  std::string notes;
  for (const std::string& note : report.notes) {
    absl::StrAppend(&notes, "<li class=\"note\">", HtmlEscaped(note), "</li>");
  }
  std::string phases;
  for (const auto& [phase, seconds] : report.phase_seconds) {
    absl::StrAppendFormat(&phases, "%s%s %.2f s", phases.empty() ? "" : ", ", HtmlEscaped(phase),
                          seconds);
  }
  if (!report.measured && report.passed_through.empty()) {
    absl::StrAppend(&notes, "<li class=\"note\">", HtmlEscaped(UnmeasuredText(report)), "</li>");
  }
  return absl::StrCat(
      "<section id=\"circumstances\"><h2>Circumstances</h2><ul>", notes,
      "</ul><p class=\"soft\">Device: ", HtmlEscaped(kernels::ShortDevice(report.device)), "<br>",
      Place(report), Recorded(report), "<code>", HtmlEscaped(report.fingerprint),
      "</code><br>Phases: ", phases, "<br>Engine: ", HtmlEscaped(report.engine_version),
      "</p></section>");
}

// Whether a character of more than one byte can be shown by itself: none that controls a terminal,
// has no width, or turns the direction of what follows (U+0080 to U+009F, U+200B to U+200F, U+2028
// to U+202E, U+2060 to U+206F, U+FEFF).
bool IsVisible(absl::string_view character) {
  const auto is_within = [&](absl::string_view first, absl::string_view last) {
    return character >= first && character <= last;
  };
  return !is_within("\xc2\x80", "\xc2\x9f") && !is_within("\xe2\x80\x8b", "\xe2\x80\x8f") &&
         !is_within("\xe2\x80\xa8", "\xe2\x80\xae") && !is_within("\xe2\x81\xa0", "\xe2\x81\xaf") &&
         character != "\xef\xbb\xbf";
}

// `character` is a sequence of UTF-8, or a byte that is none.
absl::string_view EscapedCharacter(absl::string_view character) {
  if (character.size() > 1) return IsVisible(character) ? character : "?";
  switch (character.front()) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return absl::ascii_isprint(static_cast<unsigned char>(character.front())) ? character : "?";
  }
}

}  // namespace

std::string HtmlEscaped(absl::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(1, Utf8Length(text));
    absl::StrAppend(&escaped, EscapedCharacter(text.substr(0, length)));
    text.remove_prefix(length);
  }
  return escaped;
}

std::string TimeText(double us) {
  if (std::abs(us) >= 1e4) return absl::StrFormat("%.2f ms", us / 1e3);
  return absl::StrFormat("%.1f µs", us);
}

absl::string_view PageStyle() { return kStyle; }

std::string HtmlPage(const PageFrame& frame, absl::string_view sections) {
  const std::string title = HtmlEscaped(frame.title);
  const std::string nav =
      frame.nav.empty() ? "" : absl::StrCat("<nav aria-label=\"pages\">", frame.nav, "</nav>");
  return absl::StrCat(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>Quotient: ",
      title, "</title><style>", kStyle, "</style>", frame.head, "</head><body>", nav, "<main><h1>",
      title, "</h1><div class=\"soft\">", HtmlEscaped(frame.subtitle), "</div>", sections,
      "</main></body></html>\n");
}

std::string ToHtml(const Report& report) {
  const std::string place = DevicePlaceText(report);
  const std::string subtitle =
      absl::StrCat("cost report by Quotient for ", kernels::ShortDevice(report.device),
                   place.empty() ? "" : ": ", place);
  // In the order of the questions of somebody who sees the model for the first time.
  const std::string gains = GainsSection(report), sure = HowSure(report),
                    changes = ChangesSection(report);
  std::string nav;
  for (const auto& [section, link] :
       std::initializer_list<std::pair<absl::string_view, absl::string_view>>{
           {gains, "<a href=\"#where\">Where</a> "},
           {sure, "<a href=\"#sure\">How sure</a> "},
           {changes, "<a href=\"#changed\">What changed</a> "}}) {
    if (!section.empty()) absl::StrAppend(&nav, link);
  }
  nav += "<a href=\"#next\">What next</a>";
  return HtmlPage(
      {.title = report.model_name, .subtitle = subtitle, .nav = nav},
      absl::StrCat(SummarySection(report), gains, Bars(report), sure, changes, Journal(report),
                   NextSection(report), ExplanationSection(report), WhyNotSection(report),
                   SearchSection(report), Circumstances(report)));
}

}  // namespace quotient::report
