// What is served at which address, what it may cost, and who may ask.

#include "server/pages/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/report/example_report.h"
#include "tests/server/support/faulty_stores.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::pages {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

// Counts lists, and lets reads fail.
class WatchedJobStore : public testing::FaultyJobStore {
 public:
  using FaultyJobStore::FaultyJobStore;

  absl::StatusOr<std::optional<jobs::Job>> Get(absl::string_view id) override {
    QUOTIENT_RETURN_IF_ERROR(fault);
    return FaultyJobStore::Get(id);
  }
  absl::Status List(const jobs::ListQuery& query, OnJob on_job) override {
    ++lists;
    longest_list = std::max(longest_list, query.limit);
    QUOTIENT_RETURN_IF_ERROR(fault);
    return FaultyJobStore::List(query, on_job);
  }

  int lists = 0;
  int longest_list = 0;
  absl::Status fault;
};

class PagesTest : public testing::QueueTest {
 protected:
  PagesTest() {
    limits_.max_queued = 100;
    auto watched = std::make_unique<WatchedJobStore>(std::move(store_), &no_fault_);
    watched_ = watched.get();
    store_ = std::move(watched);
    Restart();
    ledger_->AddObserver(&counts_);
    pages_ =
        std::make_unique<ServerPages>(Settings{.version = "1.2.3", .workers = 2, .is_local = true},
                                      Sources{.jobs = store_.get(),
                                              .blobs = blobs_.get(),
                                              .inventory = blobs_.get(),
                                              .hub = hub_.get(),
                                              .counts = &counts_,
                                              .age = &age_,
                                              .readiness = &readiness_,
                                              .gpus = &gpus_,
                                              .clock = &clock_});
  }

  ops::Page Ask(absl::string_view path, absl::string_view query = "",
                absl::string_view host = "127.0.0.1:9464") {
    return pages_->Answer({.path = path, .query = query, .host = host});
  }

  // A job that has succeeded, with these reports.
  std::string Succeed(absl::string_view model, absl::string_view json, absl::string_view html) {
    MustSubmit(Request(model));
    const jobs::Claimed claimed = MustClaim();
    jobs::JobResult result = SomeResult();
    result.report_json = MustPut(json);
    result.report_html = MustPut(html);
    EXPECT_OK(dispatch_->Finish(claimed.lease, result));
    return claimed.job.id;
  }

  ops::Metrics metrics_;
  ops::Readiness readiness_{&metrics_};
  ops::JobCounts counts_{{}};
  ops::QueueAge age_{{}, &clock_};
  ops::GpuMonitor gpus_{"no such library", &Clock::System()};
  testing::Fault no_fault_;  // Of writes.
  WatchedJobStore* watched_ = nullptr;
  std::unique_ptr<ServerPages> pages_;
};

TEST_F(PagesTest, TheStatusHasJobsAndTheirGains) {
  Succeed("m", report::ToJson(report::Example()), "<html>");
  MustSubmit(Request("n"));
  const ops::Page page = Ask("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_THAT(page.headers, Contains(Key("Content-Security-Policy")));
  EXPECT_THAT(page.body,
              AllOf(HasSubstr("Not ready: starting"), HasSubstr("25.0 % faster"),
                    HasSubstr("<a href=\"jobs?state=waiting\">1</a>"), HasSubstr("1 of 1")));
}

TEST_F(PagesTest, TheStatusIsMadeOnceASecond) {
  Ask("/");
  const int lists = watched_->lists;
  for (int i = 0; i < 20; ++i) Ask("/");
  EXPECT_EQ(watched_->lists, lists);
  clock_.AdvanceMs(1000);
  Ask("/");
  EXPECT_EQ(watched_->lists, 2 * lists);
  EXPECT_LE(watched_->longest_list, ServerPages::kJobsPerPage + 1);
}

TEST_F(PagesTest, ListsGoOn) {
  for (int i = 0; i < ServerPages::kJobsPerPage + 3; ++i) MustSubmit(Request(absl::StrCat(i)));
  const std::string first = Ask("/jobs").body;
  const size_t link = first.find("jobs?before=");
  ASSERT_NE(link, std::string::npos);
  const size_t begin = link + std::string("jobs?").size();
  const ops::Page rest = Ask("/jobs", first.substr(begin, first.find('"', begin) - begin));
  EXPECT_THAT(rest.body, AllOf(HasSubstr("jobs/id1\""), HasSubstr("jobs/id3\""),
                               Not(HasSubstr("jobs/id4\"")), Not(HasSubstr("Older"))));
  EXPECT_THAT(Ask("/jobs", "state=succeeded").body, HasSubstr("There are no jobs."));
  for (const char* const query :
       {"state=odd", "before=x", "before=-1", "before=99999999999999999999"}) {
    EXPECT_EQ(Ask("/jobs", query).status, 404) << query;
  }
}

TEST_F(PagesTest, ARunningJobShowsItsProgress) {
  const std::string id = MustSubmit(Request("m")).job.id;
  const jobs::Claimed claimed = MustClaim();
  EXPECT_THAT(Ask("/jobs/" + id).body, HasSubstr("The job is starting."));
  hub_->PublishProgress(claimed.lease, {.phase = "search", .fraction = 0.5, .enodes = 99});
  EXPECT_THAT(Ask("/jobs/" + id).body,
              AllOf(HasSubstr("search 50 %"), HasSubstr("<b>99</b>"), HasSubstr("claimed")));
}

TEST_F(PagesTest, LookingDoesNotCountAsUse) {
  const std::string id = Succeed("m", "{}", "<html>");
  const int64_t use_ms = MustGet(id).use_ms;
  clock_.AdvanceMs(3'600'000);
  Ask("/jobs/" + id);
  Ask("/jobs/" + id + "/report");
  EXPECT_EQ(MustGet(id).use_ms, use_ms);
}

TEST_F(PagesTest, AReportIsServedAsItIsAndMayRunNothing) {
  const std::string id = Succeed("m", "no JSON", "<html><script>x</script>");
  const ops::Page report = Ask("/jobs/" + id + "/report");
  EXPECT_EQ(report.status, 200);
  EXPECT_EQ(report.body, "<html><script>x</script>");
  EXPECT_THAT(report.headers,
              Contains(Pair("Content-Security-Policy",
                            AllOf(HasSubstr("sandbox"), Not(HasSubstr("script-src"))))));
  EXPECT_THAT(Ask("/jobs/" + id).body, HasSubstr(": improved</div>")) << "its JSON is of no use";
}

TEST_F(PagesTest, AReportThatIsTooLargeIsLeftToTheClient) {
  const std::string id = Succeed("m", "{}", std::string(ServerPages::kMostReportBytes + 1, 'x'));
  const ops::Page report = Ask("/jobs/" + id + "/report");
  EXPECT_EQ(report.status, 404);
  EXPECT_THAT(report.body, HasSubstr("quotient result jobs/" + id + " --html"));
}

TEST_F(PagesTest, OtherAddressesAreNotFound) {
  const std::string id = MustSubmit(Request("m")).job.id;
  for (const std::string& path :
       {std::string("/x"), std::string("/jobs/"), std::string("/jobs/none"),
        "/jobs/" + id + "/report", "/jobs/" + id + "/other", std::string("/jobs/../live.js"),
        "/jobs/" + std::string(999, 'a')}) {
    EXPECT_EQ(Ask(path).status, 404) << path;
  }
  EXPECT_EQ(Ask("/live.js").type, "text/javascript; charset=utf-8");
}

// As a page of the Web that gives its own name the address of this machine.
TEST_F(PagesTest, AnotherNameOfThisMachineIsRefused) {
  MustSubmit(Request("m"));
  for (const char* const host : {"evil.example:9464", "evil.example", "127.0.0.1.evil.example"}) {
    const ops::Page page = Ask("/", "", host);
    EXPECT_EQ(page.status, 403) << host;
    EXPECT_THAT(page.body, Not(HasSubstr("m.onnx")));
  }
  for (const char* const host : {"localhost", "LOCALHOST:1", "127.0.0.1:9464", "[::1]:9464", ""}) {
    EXPECT_EQ(Ask("/", "", host).status, 200) << host;
  }
}

TEST_F(PagesTest, AStoreThatDoesNotAnswerIsNoEmptyServer) {
  watched_->fault = absl::UnavailableError("the disk is <full>");
  for (const char* const path : {"/", "/jobs", "/jobs/id1", "/jobs/id1/report"}) {
    const ops::Page page = Ask(path);
    EXPECT_EQ(page.status, 503) << path;
    EXPECT_THAT(page.body, HasSubstr("the disk is &lt;full&gt;"));
    EXPECT_THAT(page.headers, Contains(Key("Retry-After")));
  }
}

// A page is in memory until whoever asked has read it.
TEST_F(PagesTest, FewPagesAreSentAtOnce) {
  std::vector<ops::Page> sent;
  for (int i = 0; i < ServerPages::kMostAtOnce; ++i) sent.push_back(Ask("/"));
  const ops::Page refused = Ask("/");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.headers, Contains(Key("Retry-After")));
  sent.pop_back();
  EXPECT_EQ(Ask("/").status, 200);
}

TEST_F(PagesTest, AReportIsReadOnce) {
  const std::string id = Succeed("m", report::ToJson(report::Example()), "<html>");
  GainReader reader(blobs_.get());
  std::vector<JobFacts> jobs = {FactsOf(MustGet(id))};
  reader.AddTo(&jobs);
  EXPECT_EQ(jobs[0].gain.text, "25.0 % faster");
  EXPECT_EQ(jobs[0].gain.percent, 25);
  // The same job again, though its report cannot be found any more.
  jobs[0].gain = {};
  jobs[0].report_json = BlobId::Of("gone");
  reader.AddTo(&jobs);
  EXPECT_EQ(jobs[0].gain.text, "25.0 % faster");
}

TEST_F(PagesTest, AListReadsSomeMegabytesAtMost) {
  const std::string large = report::ToJson(report::Example()) + std::string(3 << 20, ' ');
  std::vector<JobFacts> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(
        FactsOf(MustGet(Succeed(absl::StrCat(i), large + std::string(i, ' '), "<html>"))));
  }
  GainReader reader(blobs_.get());
  const auto known = [&] {
    return std::ranges::count_if(jobs, [](const JobFacts& job) { return !job.gain.text.empty(); });
  };
  reader.AddTo(&jobs);
  EXPECT_EQ(known(), 2);
  reader.AddTo(&jobs);
  EXPECT_EQ(known(), 4);
}

TEST(GainOfReportTest, PredictionsAreMarked) {
  report::Report report = report::Example();
  report.measured = false;
  report.original.measured = report.optimized.measured = {};
  report.speedup_interval.reset();
  EXPECT_EQ(GainOfReport(ToJson(report)).text, "20.1 % faster, predicted");
  report.predicted_speedup_percent.reset();
  EXPECT_EQ(GainOfReport(ToJson(report)).text, "improved");
  report.outcome = report::Outcome::kNoImprovement;
  EXPECT_EQ(GainOfReport(ToJson(report)).text, "no improvement");
  EXPECT_EQ(GainOfReport("[1").text, "");
}

}  // namespace
}  // namespace quotient::pages
