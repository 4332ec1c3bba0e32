// The section of the page about what changed: each kind of place once, before beside after.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/counted.h"
#include "core/report/changes.h"
#include "core/report/html.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

constexpr size_t kMostKinds = 40;

std::string Half(absl::string_view title, const std::vector<DrawnNode>& nodes,
                 const std::vector<int>& place) {
  const std::string drawing =
      place.empty() ? "<p class=\"soft\">nothing</p>"
                    : DrawGraph(Excerpt(nodes, place),
                                absl::StrCat(title, ": ", Counted(std::ssize(place), "node"),
                                             " that changed"));
  return absl::StrCat("<figure><figcaption>", title, "</figcaption>", drawing, "</figure>");
}

std::string Pair(const Report& report, const Change& change) {
  const DrawnNode& first = change.before.empty() ? report.drawn_after[change.after.front()]
                                                 : report.drawn_before[change.before.front()];
  const std::string where = change.places == 1
                                ? absl::StrCat("At <code>", HtmlEscaped(first.name), "</code>")
                                : absl::StrCat("<b>x ", change.places, "</b>, first at <code>",
                                               HtmlEscaped(first.name), "</code>");
  return absl::StrCat("<h3>", where, "</h3><div class=\"pair\">",
                      Half("before", report.drawn_before, change.before),
                      Half("after", report.drawn_after, change.after), "</div>");
}

}  // namespace

std::string ChangesSection(const Report& report) {
  if (report.drawn_after.empty() || report.outcome == Outcome::kNoImprovement) return "";
  const std::vector<Change> changes = FindChanges(report.drawn_before, report.drawn_after);
  if (changes.empty()) return "";
  std::string pairs;
  for (size_t i = 0; i < std::min(changes.size(), kMostKinds); ++i) {
    pairs += Pair(report, changes[i]);
  }
  if (changes.size() > kMostKinds) {
    absl::StrAppend(&pairs, "<p class=\"soft\">and ", changes.size() - kMostKinds,
                    " other kinds of places</p>");
  }
  const int64_t same = std::ranges::count(report.drawn_before, false, &DrawnNode::changed);
  return absl::StrCat(
      "<section id=\"changed\"><h2>What changed</h2><p class=\"soft\">",
      Counted(std::ssize(report.drawn_before) - same, "node"), " became ",
      Counted(std::ranges::count(report.drawn_after, true, &DrawnNode::changed), "node"),
      same == 0 ? "; none is the same in both graphs"
                : absl::StrCat("; the other ", same,
                               " are the same in both graphs and are left out, but for those next "
                               "to a change"),
      ". Nodes that changed are filled and have a thick edge, and stand for one place of each "
      "kind. The number "
      "in a node is its predicted cost in µs.</p>",
      pairs, "</section>");
}

}  // namespace quotient::report
