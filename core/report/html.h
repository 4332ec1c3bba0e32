#pragma once

// Helpers of the HTML report: escaping, and the drawing of a graph as SVG.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/report/report.h"

namespace quotient::report {

// Text for element content and quoted attributes. Bytes outside printable ASCII become "?".
std::string HtmlEscaped(absl::string_view text);

// A layered drawing, top to bottom. Nodes that changed are filled and labelled; stretches of
// layers where nothing changed are folded into one band that says how many nodes it stands for.
std::string DrawGraph(const std::vector<DrawnNode>& nodes);

}  // namespace quotient::report
