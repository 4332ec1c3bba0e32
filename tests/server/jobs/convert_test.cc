#include "server/jobs/convert.h"

#include "proto/wire/digest.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::jobs {
namespace {

using ::quotient::testing::HasReason;

TEST(ConvertTest, AJobSurvivesTheWayThereAndBack) {
  Job job{.id = "abc",
          .policy = {.priority = -3, .queue_ms = 1500, .run_ms = 60'000},
          .trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
          .client = "10.0.0.7",
          .device_fingerprint = "cpu; a core",
          .action_key = "key",
          .state = JobState::kFailed,
          .attempt = 2,
          .stop_requested = true,
          .sequence = 5,
          .create_ms = 1'700'000'000'123,
          .start_by_ms = 1'700'000'000'999,
          .start_ms = 1'700'000'001'456,
          .end_ms = 1'700'000'002'789,
          .use_ms = 1'700'000'003'000};
  job.spec.model_name = "m.onnx";
  job.spec.external_location = "o.data";
  job.spec.model.graph = BlobId::Of("g");
  job.spec.model.external_files["w/1"] = BlobId::Of("w");
  job.spec.options.budget_seconds = 1.5;
  job.spec.options.shapes["x"] = {1, 3, 224, 224};
  job.spec.options.disabled_rules = {"a", "b"};
  job.error = MakeError(Reason::kModelCyclic, "node 'n'");
  ASSERT_OK_AND_ASSIGN(Job back, FromProto(ToProto(job, std::nullopt)));
  EXPECT_EQ(back, job);

  job.error = absl::OkStatus();
  job.state = JobState::kSucceeded;
  job.result = JobResult{.outcome = report::Outcome::kImproved,
                         .model = BlobId::Of("m"),
                         .external_data = BlobId::Of("d"),
                         .external_location = "o.data",
                         .report_json = BlobId::Of("{}"),
                         .report_html = BlobId::Of("<>"),
                         .journal = BlobId::Of("{}\n"),
                         .engine_version = "1",
                         .device_fingerprint = "cpu; another core",
                         .device_failed = true,
                         .stopped_early = true,
                         .is_lost = true};
  ASSERT_OK_AND_ASSIGN(back, FromProto(ToProto(job, std::nullopt)));
  EXPECT_EQ(back, job);
}

TEST(ConvertTest, BadDigestsAndDoubleLocationsAreRefused) {
  v1::ModelManifest message;
  message.mutable_graph()->set_sha256("nonsense");
  EXPECT_THAT(FromProto(message), HasReason(Reason::kBadDigest));
  *message.mutable_graph() = wire::ToProto(BlobId::Of("g"));
  for (int i = 0; i < 2; ++i) {
    auto* file = message.add_external_files();
    file->set_location("w");
    *file->mutable_blob() = wire::ToProto(BlobId::Of("w"));
  }
  EXPECT_THAT(FromProto(message), HasReason(Reason::kModelMalformed));
}

TEST(ConvertTest, JobNames) {
  ASSERT_OK_AND_ASSIGN(const std::string id, JobIdFromName(JobName("abc")));
  EXPECT_EQ(id, "abc");
  EXPECT_THAT(JobIdFromName("abc"), HasReason(Reason::kJobNotFound));
  EXPECT_THAT(JobIdFromName("jobs/"), HasReason(Reason::kJobNotFound));
}

}  // namespace
}  // namespace quotient::jobs
