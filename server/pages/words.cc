#include "server/pages/words.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "core/report/html.h"

namespace quotient::pages {
namespace {

using jobs::JobState;
using report::HtmlEscaped;

constexpr size_t kMostPhase = 40;

// Whether a byte of UTF-8 continues a character.
bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

std::string Shortened(absl::string_view text, size_t most) {
  if (text.size() <= most) return HtmlEscaped(text);
  size_t kept = most - 3;
  while (kept > 0 && IsContinuation(text[kept])) --kept;
  return absl::StrCat(HtmlEscaped(text.substr(0, kept)), "...");
}

std::string TimeOf(int64_t unix_ms) {
  if (unix_ms <= 0) return "-";
  const absl::Time time = absl::FromUnixMillis(unix_ms);
  return absl::StrCat(
      "<time datetime=\"", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()), "\">",
      absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone()), "</time>");
}

std::string Duration(int64_t ms) {
  const int64_t seconds = std::max<int64_t>(0, ms) / 1000;
  const int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
  if (minutes == 0) return absl::StrCat(seconds, " s");
  if (hours == 0) return absl::StrCat(minutes, " min ", seconds % 60, " s");
  if (days == 0) return absl::StrCat(hours, " h ", minutes % 60, " min");
  return absl::StrCat(days, " d ", hours % 24, " h");
}

std::string Bytes(int64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return absl::StrFormat("%.1f %s", value, units[unit]);
}

absl::string_view PlainState(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return "waiting";
    case JobState::kRunning:
      return "running";
    case JobState::kCancelling:
      return "cancelling";
    case JobState::kSucceeded:
      return "succeeded";
    case JobState::kFailed:
      return "failed";
    case JobState::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string StateWord(JobState state) {
  const auto sign = [state]() -> absl::string_view {
    switch (state) {
      case JobState::kQueued:
        return "&#9711;";  // A circle.
      case JobState::kRunning:
      case JobState::kCancelling:
        return "&#9654;";  // A triangle.
      case JobState::kSucceeded:
        return "&#10003;";  // A check mark.
      case JobState::kFailed:
        return "&#10007;";  // A cross.
      case JobState::kCancelled:
        return "&#8211;";  // A dash.
    }
    return "";
  };
  return absl::StrCat("<span class=\"state\"><span aria-hidden=\"true\">", sign(), "</span> ",
                      PlainState(state), "</span>");
}

std::string ProgressBar(const JobFacts& job) {
  if (!job.progress.has_value()) return "starting";
  const double share = std::clamp(job.progress->fraction, 0.0, 1.0);
  const std::string phase = Shortened(job.progress->phase, kMostPhase);
  const std::string percent = absl::StrFormat("%.0f %%", 100 * share);
  return absl::StrCat(phase, " ", percent, "<br><progress max=\"100\" value=\"",
                      absl::StrFormat("%.0f", 100 * share), "\" aria-label=\"phase ", phase, "\">",
                      percent, "</progress>");
}

std::string GainWords(const JobFacts& job) {
  if (!job.outcome.has_value()) return "-";
  if (job.is_lost) return "result lost";
  if (!job.gain.text.empty()) return Shortened(job.gain.text, 80);
  return job.outcome == report::Outcome::kImproved ? "improved" : "no improvement";
}

std::string Card(absl::string_view label, absl::string_view value_html,
                 absl::string_view more_html) {
  return absl::StrCat("<div class=\"card\"><span class=\"soft\">", HtmlEscaped(label), "</span><b>",
                      value_html, "</b><span class=\"soft\">", more_html, "</span></div>");
}

}  // namespace quotient::pages
