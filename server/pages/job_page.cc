#include "server/pages/job_page.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/reason.h"
#include "core/report/html.h"
#include "server/pages/frame.h"
#include "server/pages/words.h"

namespace quotient::pages {
namespace {

using jobs::JobState;
using report::HtmlEscaped;

constexpr int kRefreshSeconds = 2;
constexpr size_t kMostTitle = 120;
constexpr size_t kMostText = 300;
constexpr size_t kMostErrorText = 2000;
// In the order in which a job passes them (core/base/progress.h).
constexpr const char* kPhases[] = {"read", "baseline", "search", "package", "verify", "measure"};

std::string Verdict(const JobFacts& job) {
  const absl::string_view style = job.state == JobState::kSucceeded ? " gain"
                                  : job.state == JobState::kFailed  ? " note"
                                                                    : "";
  const std::string more = job.outcome.has_value() ? absl::StrCat(": ", GainWords(job))
                           : job.stop_requested && !IsTerminal(job.state)
                               ? ", told to finish with what it has"
                               : "";
  return absl::StrCat("<div class=\"verdict", style, "\">", StateWord(job.state), more, "</div>");
}

std::string Phases(const Progress& progress) {
  std::string items;
  for (const char* const phase : kPhases) {
    const bool is_now = progress.phase == phase;
    absl::StrAppend(&items, is_now ? "<li aria-current=\"step\"><b>" : "<li>", phase,
                    is_now ? "</b> (now)</li>" : "</li>");
  }
  return absl::StrCat("<ol class=\"phases\">", items, "</ol>");
}

std::string ProgressSection(const JobFacts& job) {
  if (job.state != JobState::kRunning) return "";
  if (!job.progress.has_value()) {
    return "<section><h2>Progress</h2><p>The job is starting.</p></section>";
  }
  const Progress& progress = *job.progress;
  std::string cards =
      Card("elapsed", Duration(static_cast<int64_t>(1000 * progress.elapsed_seconds)),
           "in this attempt");
  if (progress.original_cost_us > 0) {
    absl::StrAppend(&cards,
                    Card("original", report::TimeText(progress.original_cost_us), "predicted"));
  }
  if (progress.best_share > 0) {
    absl::StrAppend(&cards,
                    Card("best so far", absl::StrFormat("%.1f %%", 100 * progress.best_share),
                         "of the original, by e-nodes: what the search goes by, and no "
                         "prediction"));
  }
  if (progress.enodes > 0) {
    absl::StrAppend(&cards, Card("e-graph", absl::StrCat(progress.enodes), "e-nodes"));
  }
  return absl::StrCat("<section><h2>Progress</h2><p>", ProgressBar(job), "</p>", Phases(progress),
                      "<p class=\"soft\">", Shortened(progress.detail, kMostText),
                      "</p><div class=\"cards\">", cards, "</div></section>");
}

std::string ResultSection(const JobFacts& job) {
  if (!job.outcome.has_value()) return "";
  if (job.is_lost) {
    return "<section><h2>Result</h2><p class=\"note\">A file of the result was damaged or removed. "
           "The same job, submitted again, runs anew.</p></section>";
  }
  return absl::StrCat("<section><h2>Result</h2><p><a href=\"", HtmlEscaped(job.id),
                      "/report\">The report</a>: how much faster, where, how sure, what changed, "
                      "what next.</p><p>To get the model: <code>quotient result jobs/",
                      HtmlEscaped(job.id), " -o MODEL.onnx</code></p></section>");
}

std::string ErrorSection(const JobFacts& job) {
  if (job.error.ok()) return "";
  const std::optional<Reason> reason = GetReason(job.error);
  return absl::StrCat("<section><h2>Error</h2><p><b>",
                      reason.has_value() ? HtmlEscaped(ReasonName(*reason)) : "unknown",
                      "</b>: ", Shortened(job.error.message(), kMostErrorText), "</p></section>");
}

std::string Row(absl::string_view what, absl::string_view value_html) {
  if (value_html.empty()) return "";
  return absl::StrCat("<tr><th scope=\"row\">", what, "</th><td>", value_html, "</td></tr>");
}

std::string Facts(const JobFacts& job, int64_t now_ms) {
  const int64_t begun_ms =
      job.start_ms == 0 ? (job.end_ms == 0 ? now_ms : job.end_ms) : job.start_ms;
  const std::string ran =
      job.start_ms == 0 ? "" : Duration((job.end_ms == 0 ? now_ms : job.end_ms) - job.start_ms);
  return absl::StrCat(
      "<section><h2>The job</h2><table>",
      Row("name", absl::StrCat("<code>jobs/", HtmlEscaped(job.id), "</code>")),
      Row("model", Shortened(job.model_name, kMostText)),
      Row("SHA-256 of the model", absl::StrCat("<code>", HtmlEscaped(job.graph), "</code>")),
      Row("device", absl::StrCat(Shortened(job.device, kMostText), job.hardware.empty() ? "" : ": ",
                                 Shortened(job.hardware, kMostText))),
      Row("client", Shortened(job.client, kMostText)),
      Row("priority", job.priority == 0 ? "" : absl::StrCat(job.priority)),
      Row("submitted", TimeOf(job.create_ms)),
      Row("started", job.start_ms == 0 ? "" : TimeOf(job.start_ms)),
      Row("ended", job.end_ms == 0 ? "" : TimeOf(job.end_ms)),
      Row("waited", Duration(begun_ms - job.create_ms)), Row("ran", ran),
      Row("attempts", job.attempt == 0 ? "" : absl::StrCat(job.attempt)), "</table></section>");
}

std::string History(const std::vector<jobs::Transition>& history) {
  if (history.empty()) return "";
  std::string rows;
  for (const jobs::Transition& step : history) {
    const std::string change =
        step.from == step.to ? std::string(PlainState(step.to))
                             : absl::StrCat(PlainState(step.from), " &rarr; ", PlainState(step.to));
    absl::StrAppend(&rows, "<tr><td>", TimeOf(step.time_ms), "</td><td>", change, "</td><td>",
                    Shortened(step.actor, kMostText), "</td><td>",
                    Shortened(step.reason, kMostText), "</td></tr>");
  }
  return absl::StrCat(
      "<section><h2>History</h2><table><tr><th>time</th><th>state</th><th>by</th>"
      "<th>reason</th></tr>",
      rows, "</table></section>");
}

}  // namespace

std::string JobPage(const JobFacts& job, const std::vector<jobs::Transition>& history,
                    int64_t now_ms) {
  const bool is_over = IsTerminal(job.state);
  const std::string marks =
      absl::StrCat(is_over ? "" : absl::StrCat("data-refresh=\"", kRefreshSeconds, "\" "),
                   "data-state=\"", PlainState(job.state), "\"");
  const std::string name = job.model_name.empty() ? job.id : job.model_name;
  const std::string title = name.size() > kMostTitle ? name.substr(0, kMostTitle) + "..." : name;
  return FramedPage(
      {.title = title, .subtitle = "a job of this server", .root = "../"},
      absl::StrCat("<section ", marks, ">", Verdict(job), "<div class=\"soft\">as of ",
                   TimeOf(now_ms), "</div></section>", ProgressSection(job), ResultSection(job),
                   ErrorSection(job), Facts(job, now_ms), History(history)),
      is_over ? 0 : kRefreshSeconds);
}

}  // namespace quotient::pages
