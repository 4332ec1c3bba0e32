#include "server/ops/metrics.h"

#include <prometheus/text_serializer.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "server/ops/collectors.h"
#include "server/ops/metered.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::ops {
namespace {

using ::quotient::testing::QueueTest;
using ::testing::HasSubstr;

std::string Text(const prometheus::Collectable& collectable) {
  return prometheus::TextSerializer().Serialize(collectable.Collect());
}

TEST(MetricTableTest, FollowsTheNamingRules) {
  std::set<std::string> names;
  for (const MetricSpec& spec : AllMetrics()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_EQ(absl::EndsWith(spec.name, "_total"), spec.type == MetricType::kCounter) << spec.name;
    EXPECT_FALSE(absl::StrContains(spec.help, '\n')) << spec.name;
    EXPECT_TRUE(absl::EndsWith(spec.help, ".")) << spec.name;
  }
}

TEST(MetricTableTest, IdsAndRowsCorrespond) {
  ASSERT_EQ(AllMetrics().size(), static_cast<size_t>(MetricId::kProcessStartTime) + 1);
  for (size_t i = 0; i < AllMetrics().size(); ++i) {
    EXPECT_EQ(AllMetrics()[i].id, static_cast<MetricId>(i)) << AllMetrics()[i].name;
  }
  EXPECT_STREQ(Spec(MetricId::kWatchers).name, "quotient_watchers");
}

TEST(MetricsTest, ValuesShowUpUnderTheirLabels) {
  Metrics metrics;
  metrics.Add(MetricId::kJobsSubmitted, {"new"});
  metrics.Add(MetricId::kJobsSubmitted, {"new"}, 2);
  metrics.Set(MetricId::kReady, {}, 1);
  metrics.Observe(MetricId::kJobRunSeconds, {"search"}, 0.3);
  const std::string text = Text(*metrics.registry());
  EXPECT_THAT(text, HasSubstr("quotient_jobs_submitted_total{disposition=\"new\"} 3"));
  EXPECT_THAT(text, HasSubstr("quotient_ready 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_run_seconds_count{phase=\"search\"} 1"));
}

TEST(CollectorsTest, TheProcessIsDescribed) {
  const std::string text = Text(*NewProcessCollector());
  for (const char* name : {"process_cpu_seconds_total", "process_resident_memory_bytes",
                           "process_open_fds", "process_max_fds", "process_start_time_seconds"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + name + " "));
  }
}

class JobMetricsTest : public QueueTest {
 protected:
  Metrics metrics_;
};

TEST_F(JobMetricsTest, JobsAreCountedByState) {
  JobCounts counts({});
  ledger_->AddObserver(&counts);
  MustSubmit(Request("a"));
  MustSubmit(Request("b"));
  MustClaim();
  const std::string text = Text(*NewJobCollector(&counts, hub_.get()));
  EXPECT_THAT(text, HasSubstr("quotient_jobs{state=\"queued\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_jobs{state=\"running\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_jobs{state=\"failed\"} 0"));
}

TEST_F(JobMetricsTest, CountsFollowTheStoreWhateverHappens) {
  MustSubmit(Request("waits"));
  JobCounts counts(*store_->CountByState());  // As at the start of a process.
  ledger_->AddObserver(&counts);
  const auto expect_same = [&] {
    std::map<jobs::JobState, int64_t> got = counts.Get();
    std::erase_if(got, [](const auto& entry) { return entry.second == 0; });
    EXPECT_EQ(got, *store_->CountByState());
  };
  const jobs::Claimed claimed = MustClaim();
  expect_same();
  ASSERT_OK(dispatch_->HandBack(claimed.lease, "drained"));
  expect_same();
  MustClaim();
  ASSERT_OK(admission_->Cancel(claimed.job.id, ""));
  expect_same();
  ASSERT_OK(dispatch_->RecoverAll({}));
  expect_same();
  MustSubmit(Request("waits"));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  expect_same();
}

TEST_F(JobMetricsTest, EndsAreCountedByReason) {
  const auto meter = NewJobMeter(&metrics_);
  ledger_->AddObserver(meter.get());
  MustSubmit(Request("a"));
  clock_.AdvanceMs(300);
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, MakeError(Reason::kLimitDims, "x")));
  MustSubmit(Request("b"));
  ASSERT_OK(dispatch_->HandBack(MustClaim().lease, "drained"));
  MustClaim();
  ASSERT_OK(dispatch_->RecoverAll({}));
  // It goes back to the queue, though no server is being stopped.
  const absl::Status gone = MakeError(Reason::kDeviceLost, "gone");
  ASSERT_OK(dispatch_->Lose(MustClaim().lease, "DEVICE_LOST", gone));
  const absl::Status dead = MakeError(Reason::kPoisoned, "dead");
  ASSERT_OK(dispatch_->Lose(MustClaim().lease, "process_died", dead));
  MustSubmit(Request("c"));
  const jobs::Claimed cancelled = MustClaim();
  ASSERT_OK(admission_->Cancel(cancelled.job.id, ""));
  ASSERT_OK(dispatch_->Lose(cancelled.lease, "process_died", dead));
  const std::string text = Text(*metrics_.registry());
  EXPECT_THAT(text, HasSubstr("quotient_job_attempts_total{end=\"process_died\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_attempts_total{end=\"cancelled\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("quotient_jobs_finished_total{reason=\"LIMIT_DIMS\",state=\"failed\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_attempts_total{end=\"finished\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_attempts_total{end=\"drained\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_attempts_total{end=\"lease_lost\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_attempts_total{end=\"device_lost\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_queue_seconds_count 3"));
}

TEST_F(JobMetricsTest, StoreFailuresAreCountedButRefusalsAreNot) {
  const auto store = NewMeteredJobStore(store::NewMemoryJobStore(&clock_), &clock_, &metrics_);
  EXPECT_FALSE(store->Write([](auto&) { return MakeError(Reason::kQueueFull, ""); }).ok());
  EXPECT_FALSE(store->Write([](auto&) { return MakeError(Reason::kStorageDown, ""); }).ok());
  const std::string text = Text(*metrics_.registry());
  EXPECT_THAT(text, HasSubstr("quotient_storage_errors_total{op=\"write\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_storage_op_seconds_count{op=\"write\"} 2"));
}

}  // namespace
}  // namespace quotient::ops
