#pragma once

// Helpers for HTML pages: the frame of a page, escaped text, sections that have a file of their
// own, and a drawing of a graph as SVG.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/report/report.h"

namespace quotient::report {

// Escapes text for use in element content and quoted attributes. What is no UTF-8, a control
// character, or one that hides or turns others, becomes "?".
std::string HtmlEscaped(absl::string_view text);

// "1.2 µs" or "12.34 ms".
std::string TimeText(double us);

// The sections at the head of the page: the verdict, and the main figures.
std::string SummarySection(const Report& report);

// The section of the page about gains. Empty if nothing was gained.
std::string GainsSection(const Report& report);

// The section that shows the places where the graphs differ. Empty if nothing changed.
std::string ChangesSection(const Report& report);

// The section about what would make the figures surer or the result better.
std::string NextSection(const Report& report);

// What stands around the sections of a page.
struct PageFrame {
  absl::string_view title;      // Text.
  absl::string_view subtitle;   // Text.
  absl::string_view head = "";  // HTML for the element <head>.
  absl::string_view nav = "";   // HTML with links; if empty, the page has no navigation.
};

// A self-contained page, without external resources, in the style of all pages. `sections` is HTML.
std::string HtmlPage(const PageFrame& frame, absl::string_view sections);

// The content of the page's element <style>, for policies that name its digest.
absl::string_view PageStyle();

// A layered drawing of the graph, from top to bottom. Nodes that changed are filled. Consecutive
// layers without a change nearby are folded into one band labelled with the number of its nodes.
// `label` says what the drawing shows to those who do not see it.
std::string DrawGraph(const std::vector<DrawnNode>& nodes, absl::string_view label);

}  // namespace quotient::report
