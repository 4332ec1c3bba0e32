#include "server/pages/status_page.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/counted.h"
#include "core/report/html.h"
#include "server/pages/frame.h"
#include "server/pages/words.h"

namespace quotient::pages {
namespace {

using jobs::JobState;
using report::HtmlEscaped;

constexpr size_t kMostName = 60;
constexpr size_t kMostClient = 50;
constexpr int kRefreshSeconds = 5;

int64_t CountOf(const StatusFacts& facts, JobState state) {
  const auto count = facts.counts.find(state);
  return count == facts.counts.end() ? 0 : count->second;
}

std::string JobLink(const JobFacts& job) {
  const std::string name = job.model_name.empty() ? job.id.substr(0, 12) : job.model_name;
  return absl::StrCat("<a href=\"jobs/", HtmlEscaped(job.id), "\">", Shortened(name, kMostName),
                      "</a>");
}

// How long a job waits or has waited, runs or has run.
std::string Took(const JobFacts& job, int64_t now_ms) {
  if (job.state == JobState::kQueued) return Duration(now_ms - job.create_ms);
  if (job.start_ms == 0) return "-";
  return Duration((job.end_ms == 0 ? now_ms : job.end_ms) - job.start_ms);
}

std::string Verdict(const StatusFacts& facts) {
  const std::string head =
      facts.obstacles.empty()
          ? "<div class=\"verdict gain\">Ready</div>"
          : absl::StrCat("<div class=\"verdict note\">Not ready: ",
                         HtmlEscaped(absl::StrJoin(facts.obstacles, ", ")), "</div>");
  return absl::StrCat("<section data-refresh=\"", kRefreshSeconds, "\" data-state=\"",
                      facts.obstacles.empty() ? "ready" : "not ready", "\">", head,
                      "<div class=\"soft\">quotientd ", HtmlEscaped(facts.version), ", up ",
                      Duration(facts.now_ms - facts.start_ms), ", as of ", TimeOf(facts.now_ms),
                      "</div></section>");
}

std::string CountCard(const StatusFacts& facts, JobState state, absl::string_view more) {
  const absl::string_view word = PlainState(state);
  return Card(word,
              absl::StrCat("<a href=\"jobs?state=", word, "\">", CountOf(facts, state), "</a>"),
              more);
}

std::string Cards(const StatusFacts& facts) {
  const std::string oldest =
      CountOf(facts, JobState::kQueued) == 0
          ? "the queue is empty"
          : absl::StrCat("the oldest for ",
                         Duration(static_cast<int64_t>(1000 * facts.oldest_wait_seconds)));
  const int64_t busy = CountOf(facts, JobState::kRunning) + CountOf(facts, JobState::kCancelling);
  return absl::StrCat(
      "<section class=\"cards\" aria-label=\"figures\">",
      CountCard(facts, JobState::kQueued, oldest),
      CountCard(facts, JobState::kRunning,
                absl::StrCat(busy, " of ", Counted(facts.workers, "worker"), " busy")),
      CountCard(facts, JobState::kSucceeded, "jobs that are kept"),
      CountCard(facts, JobState::kFailed, "jobs that are kept"),
      CountCard(facts, JobState::kCancelled, "jobs that are kept"),
      Card("watched by", absl::StrCat(facts.watchers), facts.watchers == 1 ? "client" : "clients"),
      Card("disk",
           facts.disk_free_bytes.has_value() ? Bytes(*facts.disk_free_bytes) : "does not answer",
           "free"),
      "</section>");
}

std::string Running(const StatusFacts& facts) {
  std::string rows;
  for (const JobFacts& job : facts.running) {
    absl::StrAppend(&rows, "<tr><td>", JobLink(job), "</td><td>", ProgressBar(job), "</td><td>",
                    Shortened(job.device, kMostName), "</td><td class=\"num\">",
                    Took(job, facts.now_ms), "</td><td class=\"num\">", job.attempt, "</td></tr>");
  }
  const std::string table =
      rows.empty() ? "<p class=\"soft\">No job runs.</p>"
                   : absl::StrCat(
                         "<table><tr><th>model</th><th>phase</th><th>device</th><th "
                         "class=\"num\">runs for</th><th class=\"num\">attempt</th></tr>",
                         rows, "</table>");
  return absl::StrCat("<section><h2>Running now</h2>", table, "</section>");
}

// What the recent jobs that succeeded have gained.
std::string Gains(const StatusFacts& facts) {
  std::vector<double> percents;
  const JobFacts* best = nullptr;
  int64_t succeeded = 0, improved = 0;
  for (const JobFacts& job : facts.recent) {
    if (!job.outcome.has_value()) continue;
    ++succeeded;
    if (job.outcome == report::Outcome::kImproved) ++improved;
    if (!job.gain.percent.has_value()) continue;
    percents.push_back(*job.gain.percent);
    if (best == nullptr || *job.gain.percent > *best->gain.percent) best = &job;
  }
  if (succeeded == 0) return "";
  std::string cards = Card("improved", absl::StrCat(improved, " of ", succeeded),
                           "of the recent jobs that succeeded");
  if (best != nullptr) {
    std::ranges::sort(percents);
    absl::StrAppend(
        &cards,
        Card("median gain", absl::StrFormat("%.1f %%", percents[percents.size() / 2]),
             "where one was measured or predicted"),
        Card("best gain", absl::StrFormat("%.1f %%", *best->gain.percent), JobLink(*best)));
  }
  return absl::StrCat("<section><h2>Gains</h2><div class=\"cards\">", cards, "</div></section>");
}

std::string Value(const std::optional<double>& value, double factor, absl::string_view unit) {
  return value.has_value() ? absl::StrFormat("%.0f %s", *value * factor, unit) : "-";
}

std::string GpuRow(const ops::GpuSample& gpu) {
  std::vector<std::string> held;
  for (const auto& [cause, is_held] : gpu.throttled) {
    if (is_held) held.push_back(cause);
  }
  const std::string clocks =
      held.empty() ? Value(gpu.sm_clock_hertz, 1e-6, "MHz")
                   : absl::StrCat(Value(gpu.sm_clock_hertz, 1e-6, "MHz"),
                                  ", held down: ", HtmlEscaped(absl::StrJoin(held, ", ")));
  return absl::StrCat(
      "<tr><td>GPU ", gpu.ordinal, "</td><td>", gpu.is_up ? "up" : "does not answer",
      "</td><td class=\"num\">", Value(gpu.utilization, 100, "% busy"), "</td><td class=\"num\">",
      Value(gpu.temperature_celsius, 1, "&deg;C"), "</td><td>", clocks, "</td></tr>");
}

// The devices of the jobs that the page shows, and the GPUs of this machine.
std::string Devices(const StatusFacts& facts) {
  std::map<std::pair<std::string, std::string>, int64_t> jobs_of;
  for (const std::vector<JobFacts>* const jobs : {&facts.running, &facts.recent}) {
    for (const JobFacts& job : *jobs) {
      if (jobs == &facts.running || job.state != JobState::kRunning) {
        ++jobs_of[{job.device, job.hardware}];
      }
    }
  }
  std::string rows;
  for (const auto& [device, jobs] : jobs_of) {
    absl::StrAppend(&rows, "<tr><td>", Shortened(device.first, kMostName), "</td><td>",
                    device.second.empty() ? "a model of a device; nothing is run there"
                                          : Shortened(device.second, 120),
                    "</td><td class=\"num\">", jobs, "</td></tr>");
  }
  std::string gpus;
  for (const ops::GpuSample& gpu : facts.gpus) gpus += GpuRow(gpu);
  if (rows.empty() && gpus.empty()) return "";
  std::string tables;
  if (!rows.empty()) {
    absl::StrAppend(&tables,
                    "<table><tr><th>device</th><th>what it is</th><th class=\"num\">jobs "
                    "on this page</th></tr>",
                    rows, "</table>");
  }
  if (!gpus.empty()) {
    absl::StrAppend(&tables,
                    "<table><tr><th>GPU</th><th>driver</th><th class=\"num\">load</th><th "
                    "class=\"num\">temperature</th><th>clock</th></tr>",
                    gpus, "</table>");
  }
  return absl::StrCat("<section><h2>Devices</h2>", tables, "</section>");
}

std::string JobTable(const std::vector<JobFacts>& jobs, int64_t now_ms) {
  if (jobs.empty()) return "<p class=\"soft\">There are no jobs.</p>";
  std::string rows;
  for (const JobFacts& job : jobs) {
    absl::StrAppend(&rows, "<tr><td>", JobLink(job), "</td><td>", StateWord(job.state), "</td><td>",
                    GainWords(job), "</td><td>", Shortened(job.device, kMostName), "</td><td>",
                    Shortened(job.client, kMostClient), "</td><td>", TimeOf(job.create_ms),
                    "</td><td class=\"num\">", Took(job, now_ms), "</td></tr>");
  }
  return absl::StrCat(
      "<table><tr><th>model</th><th>state</th><th>result</th><th>device</th><th>client</th><th>"
      "submitted</th><th class=\"num\">took</th></tr>",
      rows, "</table>");
}

std::string OlderLink(const std::vector<JobFacts>& jobs, const std::optional<JobState>& state) {
  const std::string filter =
      state.has_value() ? absl::StrCat("&amp;state=", PlainState(*state)) : "";
  return absl::StrCat("<p><a href=\"jobs?before=", jobs.back().number, filter,
                      "\">Older jobs</a></p>");
}

}  // namespace

std::string StatusPage(const StatusFacts& facts) {
  const std::string recent =
      absl::StrCat("<section><h2>Recent jobs</h2>", JobTable(facts.recent, facts.now_ms),
                   facts.has_older ? OlderLink(facts.recent, std::nullopt) : "", "</section>");
  return FramedPage({.title = "quotientd", .subtitle = "status of this server"},
                    absl::StrCat(Verdict(facts), Cards(facts), Running(facts), Gains(facts),
                                 Devices(facts), recent),
                    kRefreshSeconds);
}

std::string ListPage(const ListFacts& facts) {
  const std::string title =
      facts.state.has_value() ? absl::StrCat("Jobs: ", PlainState(*facts.state)) : "Jobs";
  const bool has_older = facts.has_older && !facts.jobs.empty();
  return FramedPage({.title = title, .subtitle = "newest first"},
                    absl::StrCat("<section>", JobTable(facts.jobs, facts.now_ms),
                                 has_older ? OlderLink(facts.jobs, facts.state) : "", "</section>"),
                    /*refresh_seconds=*/0);
}

}  // namespace quotient::pages
