#pragma once

// What the pages of the server have around their sections.

#include <string>

#include "absl/strings/string_view.h"
#include "server/ops/pages.h"

namespace quotient::pages {

struct FrameText {
  absl::string_view title;     // Text.
  absl::string_view subtitle;  // Text.
  absl::string_view root;      // How relative addresses get to "/": "" or "../".
};

// A page with the navigation, and the script that brings it up to date every `refresh_seconds`;
// 0 for pages that stay as they are. `sections` is HTML.
std::string FramedPage(const FrameText& text, absl::string_view sections, int refresh_seconds);

// The headers for such a page. They let a browser run the script above and nothing else, whatever a
// page has in it.
const ops::Headers& FrameHeaders();
// Those for a stored report, which has no script, and styles of its own.
const ops::Headers& ReportHeaders();

}  // namespace quotient::pages
