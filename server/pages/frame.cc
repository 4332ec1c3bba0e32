#include "server/pages/frame.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/digest.h"
#include "core/report/html.h"

namespace quotient::pages {
namespace {

// They are in no frame of another site, send no forms, and have no other base.
constexpr char kPolicy[] =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; ";

std::string Base64OfDigest(absl::string_view text) {
  const std::string bytes = absl::HexStringToBytes(Digest::Of(text).Hex());
  return absl::Base64Escape(bytes);
}

// The headers of a page with this policy, after what all have: what they are may not be guessed,
// and where they were left is nobody's business.
ops::Headers HeadersWith(std::string policy) {
  return {{"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Content-Security-Policy", std::move(policy)}};
}

}  // namespace

std::string FramedPage(const FrameText& text, absl::string_view sections, int refresh_seconds) {
  std::string head, live;
  if (refresh_seconds > 0) {
    head = absl::StrCat("<script src=\"", text.root,
                        "live.js\" defer></script><noscript><meta "
                        "http-equiv=\"refresh\" content=\"",
                        refresh_seconds, "\"></noscript>");
    live = "<span id=\"live\" role=\"status\" class=\"soft\"></span>";
  }
  const std::string nav =
      absl::StrCat("<a href=\"", text.root.empty() ? "./" : text.root, "\">Status</a> <a href=\"",
                   text.root, "jobs\">All jobs</a> ", live);
  return report::HtmlPage(
      {.title = text.title, .subtitle = text.subtitle, .head = head, .nav = nav}, sections);
}

const ops::Headers& FrameHeaders() {
  static const auto* const headers = new ops::Headers(
      HeadersWith(absl::StrCat(kPolicy, "script-src 'self'; connect-src 'self'; style-src 'sha256-",
                               Base64OfDigest(report::PageStyle()), "'")));
  return *headers;
}

const ops::Headers& ReportHeaders() {
  static const auto* const headers = new ops::Headers(
      HeadersWith(absl::StrCat("sandbox; ", kPolicy, "style-src 'unsafe-inline'")));
  return *headers;
}

}  // namespace quotient::pages
