#include "server/ops/metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/jobs/retention.h"
#include "server/ops/collectors.h"
#include "server/ops/metered.h"
#include "server/ops/metrics_page.h"
#include "tests/server/support/fake_runner.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::ops {
namespace {

using ::quotient::testing::QueueTest;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(MetricTableTest, SeriesHaveAValueForEachLabel) {
  for (const MetricSpec& spec : AllMetrics()) {
    std::set<SeriesValues> seen;
    for (const SeriesValues& series : SeriesOf(spec)) {
      EXPECT_EQ(series.size(), spec.labels.size()) << spec.name;
      EXPECT_TRUE(seen.insert(series).second) << spec.name;
    }
  }
}

TEST(MetricTableTest, HistogramsAloneHaveBuckets) {
  for (const MetricSpec& spec : AllMetrics()) {
    EXPECT_EQ(!spec.buckets.empty(), spec.type == MetricType::kHistogram) << spec.name;
    EXPECT_TRUE(std::ranges::is_sorted(spec.buckets)) << spec.name;
  }
  EXPECT_EQ(Spec(MetricId::kJobRunSeconds).buckets.back(), 3600);
}

TEST(MetricsPageTest, ThePageIsCurrent) {
  std::ifstream file("deploy/METRICS.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), MetricsPage())
      << "Write it anew: build/dev/bin/quotientd --metrics-page > deploy/METRICS.md";
}

TEST(MetricsTest, CountersAndHistogramsAreThereFromTheStart) {
  const Metrics metrics;
  const std::string text = Text(*metrics.registry());
  for (const char* line : {
           "quotient_upload_bytes_total 0",
           "quotient_uploads_total{outcome=\"interrupted\"} 0",
           "quotient_jobs_finished_total{reason=\"\",state=\"succeeded\"} 0",
           "quotient_jobs_finished_total{reason=\"POISONED\",state=\"failed\"} 0",
           "quotient_device_failures_total{device=\"onnxruntime\"} 0",
           "quotient_job_run_seconds_count{phase=\"measure\"} 0",
           "quotient_job_run_seconds_bucket{phase=\"measure\",le=\"3600\"} 0",
           "grpc_server_msg_sent_total{grpc_method=\"WatchJob\","
           "grpc_service=\"quotient.v1.OptimizerService\",grpc_type=\"server_stream\"} 0",
           "grpc_server_handled_total{grpc_code=\"Unauthenticated\",grpc_method=\"Upload\","
           "grpc_service=\"quotient.v1.BlobService\",grpc_type=\"client_stream\"} 0",
       }) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\n", line, "\n")));
  }
}

TEST(MetricsTest, AGaugeIsThereOnceItIsSetAndWhatIsCollectedIsNot) {
  Metrics metrics;
  EXPECT_THAT(Text(*metrics.registry()), Not(HasSubstr("quotient_blob_bytes")));
  metrics.Set(MetricId::kBlobBytes, {}, 7);
  const std::string text = Text(*metrics.registry());
  EXPECT_THAT(text, HasSubstr("\nquotient_blob_bytes 7\n"));
  EXPECT_THAT(text, Not(HasSubstr("quotient_uploads_open")));
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

TEST(MetricsTest, RefusalsAreCountedByTheLimitThatTheyMet) {
  Metrics metrics;
  const std::string before = Text(*metrics.registry());
  EXPECT_THAT(before, HasSubstr("quotient_jobs_refused_total{reason=\"QUOTA_BYTES\"} 0"));
  CountRefusal(MakeError(Reason::kQuotaBytes, "too many"), &metrics);
  CountRefusal(MakeError(Reason::kBlobMissing, "where is it?"), &metrics);
  CountRefusal(absl::InternalError("without a reason"), &metrics);
  const std::string text = Text(*metrics.registry());
  EXPECT_THAT(text, HasSubstr("quotient_jobs_refused_total{reason=\"QUOTA_BYTES\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_jobs_refused_total{reason=\"QUOTA_JOBS\"} 0"));
  EXPECT_THAT(text, HasSubstr("quotient_jobs_refused_total{reason=\"other\"} 2"));
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

TEST_F(JobMetricsTest, RemovalsAreCountedByCause) {
  const auto meter = NewJobMeter(&metrics_);
  ledger_->AddObserver(meter.get());
  const std::string id = MustSubmit(Request("deleted")).job.id;
  ASSERT_OK(admission_->Cancel(id, ""));
  ASSERT_OK(admission_->Delete(id, /*allow_missing=*/false));
  MustSubmit(Request("old"));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  clock_.AdvanceMs(10);
  jobs::RetentionRound round;
  ASSERT_OK(jobs::Retention({.keep_ms = 1}, ledger_.get(), blobs_.get(), &clock_).Run(&round));
  const std::string text = Text(*metrics_.registry());
  EXPECT_THAT(text, HasSubstr("quotient_jobs_removed_total{cause=\"request\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_jobs_removed_total{cause=\"age\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_jobs_removed_total{cause=\"space\"} 0"));
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

TEST_F(JobMetricsTest, CheckpointsAreCounted) {
  const auto store = NewMeteredCheckpointStore(std::move(checkpoint_store_), &clock_, &metrics_);
  ASSERT_OK_AND_ASSIGN(auto saved, store->Stage("job", "12345"));
  clock_.AdvanceMs(20);
  ASSERT_OK(saved->Commit());
  // A worker that has lost its lease does not commit.
  ASSERT_OK(store->Stage("job", "123").status());
  EXPECT_FALSE(store->Stage("../job", "123").ok());
  const std::string text = Text(*metrics_.registry());
  EXPECT_THAT(text, HasSubstr("quotient_checkpoints_total{outcome=\"saved\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_checkpoints_total{outcome=\"failed\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_checkpoint_bytes_total 5"));
  EXPECT_THAT(text, HasSubstr("quotient_checkpoint_seconds_bucket{le=\"0.025\"} 2"));
}

TEST_F(JobMetricsTest, LeasesAndFreeBytesAreReadWhenTheyAreAskedFor) {
  const QueueAge age({}, &clock_);
  const auto leases = NewQueueCollector(&age, dispatch_.get());
  EXPECT_THAT(Text(*leases), HasSubstr("\nquotient_leases 0\n"));
  MustSubmit(Request("a"));
  const jobs::Claimed claimed = MustClaim();
  EXPECT_THAT(Text(*leases), HasSubstr("\nquotient_leases 1\n"));
  ASSERT_OK(dispatch_->HandBack(claimed.lease, "drained"));
  EXPECT_THAT(Text(*leases), HasSubstr("\nquotient_leases 0\n"));
  EXPECT_THAT(Text(*NewDiskCollector(blobs_.get())), HasSubstr("\nquotient_disk_free_bytes "));
}

TEST_F(JobMetricsTest, ResultsOfADeviceAreExpectedAndItsFailuresAreCounted) {
  testing::DiskBlobSink made(blobs_.get());
  testing::FakeRunner fake(blobs_.get(), &made);
  fake.Release();
  const auto runner = NewMeteredRunner(&fake, &clock_, &metrics_);
  struct : ProgressSink {
    void Report(const Progress& /*progress*/) override {}
  } sink;
  MustSubmit(Request("fatal"));
  EXPECT_FALSE(runner->Run(MustClaim().job, CancelToken(), &sink, nullptr).ok());
  const std::string text = Text(*metrics_.registry());
  EXPECT_THAT(text, HasSubstr("quotient_job_result_total{device=\"cpu\",library=\"oneDNN 1.0\","
                              "outcome=\"improved\"} 0"));
  EXPECT_THAT(text, HasSubstr("quotient_device_failures_total{device=\"cpu\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_device_up{device=\"cpu\"} 0"));
  MustSubmit(Request("good"));
  EXPECT_OK(runner->Run(MustClaim().job, CancelToken(), &sink, nullptr));
  EXPECT_THAT(Text(*metrics_.registry()), HasSubstr("quotient_device_up{device=\"cpu\"} 1"));
}

TEST(ProcessMetricsTest, ProcessesAreCountedByTheirEnd) {
  Metrics metrics;
  CountProcess({.fate = runner::ProcessFate::kOk, .memory_bytes = 100 << 20}, &metrics);
  CountProcess({.fate = runner::ProcessFate::kDied}, &metrics);
  const std::string text = Text(*metrics.registry());
  EXPECT_THAT(text, HasSubstr("quotient_job_processes_total{end=\"ok\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_processes_total{end=\"died\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_processes_total{end=\"killed\"} 0"));
  EXPECT_THAT(text, HasSubstr("quotient_job_process_memory_bytes_bucket{le=\"134217728\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_process_memory_bytes_count 1"));
}

TEST(ProcessMetricsTest, FiguresOfRunsAddUp) {
  Metrics metrics;
  runner::v1::Figures figures;
  figures.set_simulations(100);
  figures.set_enodes(2000);
  figures.set_kernels_known(3);
  figures.set_lane_wait_seconds(0.5);
  CountFigures(figures, &metrics);
  figures.set_gain_ratio(0.72);
  CountFigures(figures, &metrics);
  const std::string text = Text(*metrics.registry());
  EXPECT_THAT(text, HasSubstr("quotient_search_simulations_total 200"));
  EXPECT_THAT(text, HasSubstr("quotient_search_enodes_total 4000"));
  EXPECT_THAT(text, HasSubstr("quotient_timing_measurements_total{outcome=\"hit\"} 6"));
  EXPECT_THAT(text, HasSubstr("quotient_timing_measurements_total{outcome=\"noisy\"} 0"));
  EXPECT_THAT(text, HasSubstr("quotient_lane_wait_seconds_total 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_gain_ratio_bucket{le=\"0.75\"} 1"));
  EXPECT_THAT(text, HasSubstr("quotient_job_gain_ratio_count 1"));
}

}  // namespace
}  // namespace quotient::ops
