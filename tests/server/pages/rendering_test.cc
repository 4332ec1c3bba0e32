// The pages as functions of facts: golden text of what is in <main>, and what users may have sent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "core/base/reason.h"
#include "server/pages/frame.h"
#include "server/pages/job_page.h"
#include "server/pages/live_script.h"
#include "server/pages/status_page.h"
#include "server/pages/words.h"

namespace quotient::pages {
namespace {

using jobs::JobState;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr int64_t kNowMs = 1'700'000'000'000;  // 2023-11-14 22:13:20 UTC

// What is in <main>, with a line for each section, row, card and item.
std::string LinesOf(const std::string& page) {
  const size_t begin = page.find("<main>"), end = page.find("</main>");
  return absl::StrReplaceAll(page.substr(begin, end - begin),
                             {{"<section", "\n<section"},
                              {"<table", "\n<table"},
                              {"<tr", "\n<tr"},
                              {"<li", "\n<li"},
                              {"<div class=\"card\"", "\n<div class=\"card\""}});
}

JobFacts RunningJob() {
  JobFacts job{.number = 7,
               .id = "a7",
               .model_name = "bert.onnx",
               .graph = "0f",
               .device = "cpu",
               .hardware = "oneDNN 3.1 on AMD EPYC, 2 threads",
               .client = "127.0.0.1",
               .state = JobState::kRunning,
               .attempt = 1,
               .create_ms = kNowMs - 90'000,
               .start_ms = kNowMs - 62'000};
  job.progress = Progress{.phase = "search",
                          .elapsed_seconds = 61,
                          .fraction = 0.425,
                          .original_cost_us = 120,
                          .best_share = 0.83,
                          .enodes = 4711,
                          .detail = "step 12"};
  return job;
}

JobFacts EndedJob() {
  JobFacts job{.number = 6,
               .id = "a6",
               .model_name = "resnet.onnx",
               .device = "onnxruntime",
               .hardware = "ONNX Runtime 1.31.1 on AMD EPYC, 2 threads",
               .client = "10.0.0.1",
               .state = JobState::kSucceeded,
               .attempt = 1,
               .create_ms = kNowMs - 7'300'000,
               .start_ms = kNowMs - 7'200'000,
               .end_ms = kNowMs - 7'170'000};
  job.outcome = report::Outcome::kImproved;
  job.report_html = BlobId::Of("<html>");
  job.gain = {.text = "25.0 % faster", .percent = 25};
  return job;
}

// Names as somebody would choose them who wants a browser to run something.
JobFacts HostileJob() {
  const std::string attack = "<script>alert('\"&')</script>\xe2\x80\xae";
  JobFacts job = RunningJob();
  for (std::string* const text : {&job.model_name, &job.device, &job.hardware, &job.client,
                                  &job.progress->phase, &job.progress->detail}) {
    *text = attack;
  }
  job.error = MakeError(Reason::kInternal, attack);
  job.outcome = report::Outcome::kImproved;
  job.gain = {.text = attack, .percent = 25};
  return job;
}

StatusFacts SomeFacts() {
  return {.version = "1.2.3",
          .now_ms = kNowMs,
          .start_ms = kNowMs - 93'784'000,
          .counts = {{JobState::kQueued, 2}, {JobState::kRunning, 1}, {JobState::kSucceeded, 40}},
          .oldest_wait_seconds = 75,
          .workers = 2,
          .watchers = 1,
          .disk_free_bytes = int64_t{5} << 30,
          .running = {RunningJob()},
          .recent = {RunningJob(), EndedJob()},
          .has_older = true};
}

TEST(StatusPageTest, ShowsReadinessQueueJobsGainsAndDevices) {
  EXPECT_EQ(LinesOf(StatusPage(SomeFacts())),
            R"html(<main><h1>quotientd</h1><div class="soft">status of this server</div>
<section data-refresh="5" data-state="ready"><div class="verdict gain">Ready</div><div class="soft">quotientd 1.2.3, up 1 d 2 h, as of <time datetime="2023-11-14T22:13:20Z">2023-11-14 22:13:20 UTC</time></div></section>
<section class="cards" aria-label="figures">
<div class="card"><span class="soft">waiting</span><b><a href="jobs?state=waiting">2</a></b><span class="soft">the oldest for 1 min 15 s</span></div>
<div class="card"><span class="soft">running</span><b><a href="jobs?state=running">1</a></b><span class="soft">1 of 2 workers busy</span></div>
<div class="card"><span class="soft">succeeded</span><b><a href="jobs?state=succeeded">40</a></b><span class="soft">jobs that are kept</span></div>
<div class="card"><span class="soft">failed</span><b><a href="jobs?state=failed">0</a></b><span class="soft">jobs that are kept</span></div>
<div class="card"><span class="soft">cancelled</span><b><a href="jobs?state=cancelled">0</a></b><span class="soft">jobs that are kept</span></div>
<div class="card"><span class="soft">watched by</span><b>1</b><span class="soft">client</span></div>
<div class="card"><span class="soft">disk</span><b>5.0 GiB</b><span class="soft">free</span></div></section>
<section><h2>Running now</h2>
<table>
<tr><th>model</th><th>phase</th><th>device</th><th class="num">runs for</th><th class="num">attempt</th></tr>
<tr><td><a href="jobs/a7">bert.onnx</a></td><td>search 42 %<br><progress max="100" value="42" aria-label="phase search">42 %</progress></td><td>cpu</td><td class="num">1 min 2 s</td><td class="num">1</td></tr></table></section>
<section><h2>Gains</h2><div class="cards">
<div class="card"><span class="soft">improved</span><b>1 of 1</b><span class="soft">of the recent jobs that succeeded</span></div>
<div class="card"><span class="soft">median gain</span><b>25.0 %</b><span class="soft">where one was measured or predicted</span></div>
<div class="card"><span class="soft">best gain</span><b>25.0 %</b><span class="soft"><a href="jobs/a6">resnet.onnx</a></span></div></div></section>
<section><h2>Devices</h2>
<table>
<tr><th>device</th><th>what it is</th><th class="num">jobs on this page</th></tr>
<tr><td>cpu</td><td>oneDNN 3.1 on AMD EPYC, 2 threads</td><td class="num">1</td></tr>
<tr><td>onnxruntime</td><td>ONNX Runtime 1.31.1 on AMD EPYC, 2 threads</td><td class="num">1</td></tr></table></section>
<section><h2>Recent jobs</h2>
<table>
<tr><th>model</th><th>state</th><th>result</th><th>device</th><th>client</th><th>submitted</th><th class="num">took</th></tr>
<tr><td><a href="jobs/a7">bert.onnx</a></td><td><span class="state"><span aria-hidden="true">&#9654;</span> running</span></td><td>-</td><td>cpu</td><td>127.0.0.1</td><td><time datetime="2023-11-14T22:11:50Z">2023-11-14 22:11:50 UTC</time></td><td class="num">1 min 2 s</td></tr>
<tr><td><a href="jobs/a6">resnet.onnx</a></td><td><span class="state"><span aria-hidden="true">&#10003;</span> succeeded</span></td><td>25.0 % faster</td><td>onnxruntime</td><td>10.0.0.1</td><td><time datetime="2023-11-14T20:11:40Z">2023-11-14 20:11:40 UTC</time></td><td class="num">30 s</td></tr></table><p><a href="jobs?before=6">Older jobs</a></p></section>)html");
}

TEST(StatusPageTest, SaysWhyItIsNotReady) {
  StatusFacts facts = SomeFacts();
  facts.obstacles = {"storage", "draining"};
  facts.disk_free_bytes.reset();
  const std::string page = StatusPage(facts);
  EXPECT_THAT(page, AllOf(HasSubstr(">Not ready: storage, draining<"),
                          HasSubstr("data-state=\"not ready\""), HasSubstr("does not answer")));
}

TEST(StatusPageTest, AnEmptyServerHasNoTables) {
  const std::string page = StatusPage({.version = "1", .now_ms = kNowMs, .start_ms = kNowMs});
  EXPECT_THAT(page, AllOf(HasSubstr("No job runs."), HasSubstr("There are no jobs."),
                          HasSubstr("the queue is empty"), Not(HasSubstr("<table")),
                          Not(HasSubstr("Older jobs")), Not(HasSubstr("Gains"))));
}

TEST(StatusPageTest, ShowsGpus) {
  StatusFacts facts = SomeFacts();
  facts.gpus = {{.ordinal = 1,
                 .is_up = true,
                 .utilization = 0.5,
                 .temperature_celsius = 61,
                 .sm_clock_hertz = 1.98e9,
                 .throttled = {{"power", true}, {"thermal", false}}},
                {.ordinal = 2}};
  EXPECT_THAT(StatusPage(facts),
              AllOf(HasSubstr("<td>GPU 1</td><td>up</td><td class=\"num\">50 % busy</td><td "
                              "class=\"num\">61 &deg;C</td><td>1980 MHz, held down: power</td>"),
                    HasSubstr("<td>GPU 2</td><td>does not answer</td>")));
}

TEST(ListPageTest, GoesOnWithOlderJobsOfTheSameState) {
  const std::string page = ListPage(
      {.now_ms = kNowMs, .state = JobState::kSucceeded, .jobs = {EndedJob()}, .has_older = true});
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>Jobs: succeeded</h1>"),
                          HasSubstr("href=\"jobs?before=6&amp;state=succeeded\""),
                          HasSubstr("href=\"jobs/a6\""), Not(HasSubstr("live.js"))));
}

TEST(JobPageTest, ShowsProgress) {
  const jobs::Transition claimed = {.job_id = "a7",
                                    .sequence = 2,
                                    .time_ms = kNowMs - 62'000,
                                    .from = JobState::kQueued,
                                    .to = JobState::kRunning,
                                    .actor = "worker",
                                    .reason = "claimed"};
  EXPECT_EQ(LinesOf(JobPage(RunningJob(), {claimed}, kNowMs)),
            R"html(<main><h1>bert.onnx</h1><div class="soft">a job of this server</div>
<section data-refresh="2" data-state="running"><div class="verdict"><span class="state"><span aria-hidden="true">&#9654;</span> running</span></div><div class="soft">as of <time datetime="2023-11-14T22:13:20Z">2023-11-14 22:13:20 UTC</time></div></section>
<section><h2>Progress</h2><p>search 42 %<br><progress max="100" value="42" aria-label="phase search">42 %</progress></p><ol class="phases">
<li>read</li>
<li>baseline</li>
<li aria-current="step"><b>search</b> (now)</li>
<li>package</li>
<li>verify</li>
<li>measure</li></ol><p class="soft">step 12</p><div class="cards">
<div class="card"><span class="soft">elapsed</span><b>1 min 1 s</b><span class="soft">in this attempt</span></div>
<div class="card"><span class="soft">original</span><b>120.0 µs</b><span class="soft">predicted</span></div>
<div class="card"><span class="soft">best so far</span><b>83.0 %</b><span class="soft">of the original, by e-nodes: what the search goes by, and no prediction</span></div>
<div class="card"><span class="soft">e-graph</span><b>4711</b><span class="soft">e-nodes</span></div></div></section>
<section><h2>The job</h2>
<table>
<tr><th scope="row">name</th><td><code>jobs/a7</code></td></tr>
<tr><th scope="row">model</th><td>bert.onnx</td></tr>
<tr><th scope="row">SHA-256 of the model</th><td><code>0f</code></td></tr>
<tr><th scope="row">device</th><td>cpu: oneDNN 3.1 on AMD EPYC, 2 threads</td></tr>
<tr><th scope="row">client</th><td>127.0.0.1</td></tr>
<tr><th scope="row">submitted</th><td><time datetime="2023-11-14T22:11:50Z">2023-11-14 22:11:50 UTC</time></td></tr>
<tr><th scope="row">started</th><td><time datetime="2023-11-14T22:12:18Z">2023-11-14 22:12:18 UTC</time></td></tr>
<tr><th scope="row">waited</th><td>28 s</td></tr>
<tr><th scope="row">ran</th><td>1 min 2 s</td></tr>
<tr><th scope="row">attempts</th><td>1</td></tr></table></section>
<section><h2>History</h2>
<table>
<tr><th>time</th><th>state</th><th>by</th><th>reason</th></tr>
<tr><td><time datetime="2023-11-14T22:12:18Z">2023-11-14 22:12:18 UTC</time></td><td>waiting &rarr; running</td><td>worker</td><td>claimed</td></tr></table></section>)html");
}

TEST(JobPageTest, AnEndedJobHasItsReportAndStaysAsItIs) {
  const std::string page = JobPage(EndedJob(), {}, kNowMs);
  EXPECT_THAT(page, AllOf(HasSubstr("succeeded</span>: 25.0 % faster"),
                          HasSubstr("<a href=\"a6/report\">The report</a>"),
                          HasSubstr("quotient result jobs/a6 -o"), Not(HasSubstr("data-refresh")),
                          Not(HasSubstr("http-equiv")), Not(HasSubstr("live.js"))));
}

TEST(JobPageTest, AFailedJobHasItsReason) {
  JobFacts job = EndedJob();
  job.state = JobState::kFailed;
  job.outcome.reset();
  job.error = MakeError(Reason::kModelMalformed, "node 'x': " + std::string(5000, 'y'));
  const std::string page = JobPage(job, {}, kNowMs);
  EXPECT_THAT(page, AllOf(HasSubstr("<b>MODEL_MALFORMED</b>: node &#39;x&#39;: yyy"),
                          HasSubstr("yyy...</p>"), Not(HasSubstr("a6/report"))));
  EXPECT_LT(page.size(), 16'000);
}

TEST(JobPageTest, AResultThatIsLostIsNotOffered) {
  JobFacts job = EndedJob();
  job.is_lost = true;
  EXPECT_THAT(JobPage(job, {}, kNowMs),
              AllOf(HasSubstr("damaged or removed"), Not(HasSubstr("a6/report"))));
}

TEST(AllPagesTest, NothingOfUsersIsMarkup) {
  const JobFacts job = HostileJob();
  StatusFacts facts = SomeFacts();
  facts.running = facts.recent = {job};
  const jobs::Transition step = {.actor = job.client, .reason = job.client};
  for (const std::string& page : {StatusPage(facts), ListPage({.now_ms = kNowMs, .jobs = {job}}),
                                  JobPage(job, {step}, kNowMs)}) {
    EXPECT_THAT(LinesOf(page), AllOf(Not(HasSubstr("<script")), HasSubstr("&lt;script&gt;")));
    EXPECT_THAT(page, Not(HasSubstr("\xe2\x80\xae")));
    EXPECT_THAT(page, Not(HasSubstr("style=\""))) << "the policy forbids it";
  }
}

TEST(AllPagesTest, LongNamesAreCut) {
  JobFacts job = EndedJob();
  job.model_name = std::string(100'000, 'x');
  StatusFacts facts = SomeFacts();
  facts.recent = std::vector<JobFacts>(25, job);
  EXPECT_LT(StatusPage(facts).size(), 40'000);
  EXPECT_LT(JobPage(job, {}, kNowMs).size(), 16'000);
}

TEST(AllPagesTest, WithoutScriptsPagesAreLoadedAnew) {
  EXPECT_THAT(FramedPage({.title = "t", .root = "../"}, "", 5),
              AllOf(HasSubstr("<script src=\"../live.js\" defer></script>"),
                    HasSubstr("<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>"),
                    HasSubstr("<a href=\"../\">Status</a>"), HasSubstr("role=\"status\"")));
  EXPECT_THAT(FramedPage({.title = "t"}, "", 0), Not(HasSubstr("script")));
}

TEST(AllPagesTest, ThePolicyNamesNoWayOut) {
  EXPECT_THAT(FrameHeaders(), Contains(Pair("X-Content-Type-Options", "nosniff")));
  EXPECT_THAT(FrameHeaders(),
              Contains(Pair("Content-Security-Policy",
                            AllOf(HasSubstr("default-src 'none';"), HasSubstr("style-src 'sha256-"),
                                  HasSubstr("frame-ancestors 'none'"), Not(HasSubstr("unsafe"))))));
  EXPECT_THAT(ReportHeaders(),
              Contains(Pair("Content-Security-Policy",
                            AllOf(HasSubstr("sandbox; default-src 'none';"),
                                  Not(HasSubstr("script-src")), Not(HasSubstr("connect-src"))))));
  EXPECT_THAT(std::string(LiveScript()), Not(HasSubstr("http")));
}

TEST(WordsTest, TimesAndSizes) {
  EXPECT_EQ(Duration(-5), "0 s");
  EXPECT_EQ(Duration(59'999), "59 s");
  EXPECT_EQ(Duration(200'000), "3 min 20 s");
  EXPECT_EQ(Duration(5 * 3'600'000 + 12 * 60'000), "5 h 12 min");
  EXPECT_EQ(Duration(int64_t{76} * 3'600'000), "3 d 4 h");
  EXPECT_EQ(Bytes(512), "512 bytes");
  EXPECT_EQ(Bytes(1536), "1.5 KiB");
  EXPECT_EQ(Bytes(INT64_MAX), "8.0 EiB");
  EXPECT_EQ(TimeOf(0), "-");
  EXPECT_EQ(Shortened("abcdefgh", 6), "abc...");
  EXPECT_EQ(Shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(Shortened("ab\xc3\xa4\xc3\xa4\xc3\xa4", 6), "ab...") << "no half of a letter";
}

}  // namespace
}  // namespace quotient::pages
