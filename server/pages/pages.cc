#include "server/pages/pages.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "server/pages/frame.h"
#include "server/pages/job_page.h"
#include "server/pages/live_script.h"
#include "server/pages/words.h"

namespace quotient::pages {
namespace {

constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr char kScript[] = "text/javascript; charset=utf-8";
constexpr int64_t kStatusLifeNs = 1'000'000'000;
constexpr size_t kMostIdChars = 64;

ops::Page HtmlAnswer(std::string body) {
  return {.type = kHtml, .headers = FrameHeaders(), .body = std::move(body)};
}

// A page that says why there is no other one. `root` is how it gets to the first page.
ops::Page Refusal(int status, absl::string_view title, absl::string_view text,
                  absl::string_view root = "") {
  ops::Page page = HtmlAnswer(FramedPage(
      {.title = title, .root = root},
      absl::StrCat("<section><p>", Shortened(text, 500), "</p></section>"), /*refresh_seconds=*/0));
  page.status = status;
  if (status == 503) page.headers.emplace_back("Retry-After", "1");
  return page;
}

ops::Page NotFound(absl::string_view root = "") {
  return Refusal(404, "Not found", "There is no such page, or no such job any more.", root);
}

ops::Page Unavailable(const absl::Status& why, absl::string_view root = "") {
  return Refusal(503, "Not available", why.message(), root);
}

bool IsId(absl::string_view text) {
  return !text.empty() && text.size() <= kMostIdChars &&
         std::ranges::all_of(text, [](char c) { return absl::ascii_isalnum(c) || c == '-'; });
}

std::optional<jobs::JobState> StateOfWord(absl::string_view word) {
  for (const jobs::JobState state :
       {jobs::JobState::kQueued, jobs::JobState::kRunning, jobs::JobState::kCancelling,
        jobs::JobState::kSucceeded, jobs::JobState::kFailed, jobs::JobState::kCancelled}) {
    if (word == PlainState(state)) return state;
  }
  return std::nullopt;
}

// What a list was asked for; nothing if that is not understood.
std::optional<jobs::ListQuery> QueryOf(absl::string_view text) {
  jobs::ListQuery query;
  for (const absl::string_view part : absl::StrSplit(text, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (field.first == "state") {
      query.filter.state = StateOfWord(field.second);
      if (!query.filter.state.has_value()) return std::nullopt;
    } else if (field.first == "before") {
      if (!absl::SimpleAtoi(field.second, &query.before_number) || query.before_number < 1) {
        return std::nullopt;
      }
    }
  }
  return query;
}

}  // namespace

bool IsLocalHost(absl::string_view host) {
  if (absl::StartsWith(host, "[")) return true;  // An address of IPv6.
  host = host.substr(0, host.rfind(':'));
  if (host.empty() || absl::EqualsIgnoreCase(host, "localhost")) return true;
  return std::ranges::all_of(host, [](char c) { return absl::ascii_isdigit(c) || c == '.'; });
}

ops::Page ServerPages::Answer(const ops::PageRequest& request) {
  if (settings_.is_local && !IsLocalHost(request.host)) {
    return Refusal(403, "Refused", "Ask for the address of this machine, or for localhost.");
  }
  std::shared_ptr<void> slot = TakeSlot();
  if (slot == nullptr) {
    return Refusal(503, "Busy", "Too many pages are asked for at once. Try again.");
  }
  ops::Page page = Route(request);
  page.held = std::move(slot);
  return page;
}

std::shared_ptr<void> ServerPages::TakeSlot() {
  absl::MutexLock lock(&slots_mutex_);
  if (slots_taken_ >= kMostAtOnce) return nullptr;
  ++slots_taken_;
  return {this, [this](void* /*self*/) {
            absl::MutexLock lock(&slots_mutex_);
            --slots_taken_;
          }};
}

ops::Page ServerPages::Route(const ops::PageRequest& request) {
  absl::string_view path = request.path;
  if (path == "/") return Status();
  if (path == "/jobs") return List(request.query);
  if (path == "/live.js") {
    return {.type = kScript, .headers = FrameHeaders(), .body = std::string(LiveScript())};
  }
  if (!absl::ConsumePrefix(&path, "/jobs/")) return NotFound();
  const bool is_report = absl::ConsumeSuffix(&path, "/report");
  if (!IsId(path)) return NotFound();
  return is_report ? Report(path) : Job(path);
}

ops::Page ServerPages::Status() {
  absl::MutexLock lock(&status_mutex_);
  const int64_t now_ns = sources_.clock->NowNs();
  if (status_.empty() || now_ns - status_ns_ >= kStatusLifeNs) {
    const absl::StatusOr<StatusFacts> facts = ReadStatus();
    if (!facts.ok()) return Unavailable(facts.status());
    status_ = StatusPage(*facts);
    status_ns_ = now_ns;
  }
  return HtmlAnswer(status_);
}

ops::Page ServerPages::List(absl::string_view query_text) {
  std::optional<jobs::ListQuery> query = QueryOf(query_text);
  if (!query.has_value()) return NotFound();
  query->limit = kJobsPerPage;
  ListFacts facts{.now_ms = sources_.clock->UnixMs(), .state = query->filter.state};
  if (const absl::Status status = ReadJobs(*query, &facts.jobs, &facts.has_older); !status.ok()) {
    return Unavailable(status);
  }
  return HtmlAnswer(ListPage(facts));
}

ops::Page ServerPages::Job(absl::string_view id) {
  const absl::StatusOr<JobFacts> job = ReadJob(id);
  if (absl::IsNotFound(job.status())) return NotFound("../");
  if (!job.ok()) return Unavailable(job.status(), "../");
  absl::StatusOr<std::vector<jobs::Transition>> history =
      sources_.jobs->History(id, /*after_sequence=*/0);
  if (!history.ok()) return Unavailable(history.status(), "../");
  if (history->size() > kMostTransitions) {
    history->erase(history->begin(), history->end() - kMostTransitions);
  }
  return HtmlAnswer(JobPage(*job, *history, sources_.clock->UnixMs()));
}

ops::Page ServerPages::Report(absl::string_view id) {
  constexpr char kRoot[] = "../../";
  const absl::StatusOr<JobFacts> job = ReadJob(id);
  if (absl::IsNotFound(job.status())) return NotFound(kRoot);
  if (!job.ok()) return Unavailable(job.status(), kRoot);
  if (!job->report_html.has_value()) return NotFound(kRoot);
  if (job->report_html->size_bytes > kMostReportBytes) {
    return Refusal(404, "Too large",
                   absl::StrCat("The report has ", Bytes(job->report_html->size_bytes),
                                ". Get it by: quotient result jobs/", id, " --html REPORT.html"),
                   kRoot);
  }
  const absl::StatusOr<std::shared_ptr<const jobs::Blob>> blob =
      sources_.blobs->Open(*job->report_html);
  if (absl::IsNotFound(blob.status())) return NotFound(kRoot);
  if (!blob.ok()) return Unavailable(blob.status(), kRoot);
  std::string body((*blob)->bytes());
  if ((*blob)->damaged()) return Refusal(503, "Damaged", "The report cannot be read.", kRoot);
  return {.type = kHtml, .headers = ReportHeaders(), .body = std::move(body)};
}

absl::StatusOr<StatusFacts> ServerPages::ReadStatus() {
  StatusFacts facts{.version = settings_.version,
                    .now_ms = sources_.clock->UnixMs(),
                    .start_ms = start_ms_,
                    .obstacles = sources_.readiness->obstacles(),
                    .counts = sources_.counts->Get(),
                    .oldest_wait_seconds = sources_.age->OldestSeconds(),
                    .workers = settings_.workers,
                    .watchers = sources_.hub->watchers(),
                    .gpus = sources_.gpus->Latest()};
  if (const absl::StatusOr<int64_t> free_bytes = sources_.inventory->FreeBytes(); free_bytes.ok()) {
    facts.disk_free_bytes = *free_bytes;
  }
  bool has_more = false;
  QUOTIENT_RETURN_IF_ERROR(ReadJobs({.filter = {.state = jobs::JobState::kRunning},
                                     .limit = std::min(settings_.workers, kJobsPerPage)},
                                    &facts.running, &has_more));
  QUOTIENT_RETURN_IF_ERROR(ReadJobs({.limit = kJobsPerPage}, &facts.recent, &facts.has_older));
  return facts;
}

absl::Status ServerPages::ReadJobs(const jobs::ListQuery& query, std::vector<JobFacts>* jobs,
                                   bool* has_more) {
  jobs::ListQuery one_more = query;
  ++one_more.limit;
  QUOTIENT_RETURN_IF_ERROR(sources_.jobs->List(one_more, [&](int64_t number, const jobs::Job& job) {
    jobs->push_back(FactsOf(job, number));
    return true;
  }));
  *has_more = std::ssize(*jobs) > query.limit;
  if (*has_more) jobs->pop_back();
  for (JobFacts& job : *jobs) job.progress = sources_.hub->LatestProgress(job.id);
  gains_.AddTo(jobs);
  return absl::OkStatus();
}

absl::StatusOr<JobFacts> ServerPages::ReadJob(absl::string_view id) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<jobs::Job> job, sources_.jobs->Get(id));
  if (!job.has_value()) return absl::NotFoundError("no such job");
  std::vector<JobFacts> facts = {FactsOf(*job)};
  facts.front().progress = sources_.hub->LatestProgress(id);
  gains_.AddTo(&facts);
  return std::move(facts.front());
}

}  // namespace quotient::pages
