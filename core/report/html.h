#pragma once

// Helpers for HTML pages: the frame of a page, escaped text, sections that have a file of their
// own, and a drawing of a graph as SVG.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/report/report.h"

namespace quotient::report {

// Escapes text for use in element content and quoted attributes. Bytes outside printable ASCII
// become "?".
std::string HtmlEscaped(absl::string_view text);

// "1.2 µs" or "12.34 ms".
std::string TimeText(double us);

// The sections at the head of the page: the verdict, and the main figures.
std::string SummarySection(const Report& report);

// The section of the page about gains. Empty if nothing was gained.
std::string GainsSection(const Report& report);

// A self-contained page, without scripts or external resources, in the style of all pages. `title`
// and `subtitle` are text; `sections` is HTML.
std::string HtmlPage(absl::string_view title, absl::string_view subtitle,
                     absl::string_view sections);

// A layered drawing of the graph, from top to bottom. Nodes that changed are filled. Consecutive
// layers without a change nearby are folded into one band labelled with the number of its nodes.
std::string DrawGraph(const std::vector<DrawnNode>& nodes);

}  // namespace quotient::report
