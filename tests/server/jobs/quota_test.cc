// How many bytes the jobs of a client may have stored.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/jobs/admission.h"
#include "server/jobs/quotas.h"
#include "tests/server/support/bytes_of.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::jobs {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::QueueTest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QuotaTest : public QueueTest {
 protected:
  static constexpr int64_t kUnit = 100'000;
  static constexpr int64_t kMost =
      10;  // Units of files that fit; what jobs take besides fits, too.
  static constexpr int64_t kResult = 6;

  QuotaTest() {
    limits_ = {.max_queued = 20, .max_bytes_per_client = kMost * kUnit + kUnit / 2};
    Restart();
  }

  // A file of so many units, all of them this character.
  static std::string Of(int64_t units, char content = 'x') {
    return std::string(static_cast<size_t>(units * kUnit), content);
  }

  SubmitRequest RequestOf(const std::string& client, absl::string_view model,
                          const std::string& request_id = "") {
    SubmitRequest request = Request(model, request_id);
    request.client = client;
    return request;
  }

  // A job of the same model that is not equal.
  SubmitRequest Another(SubmitRequest request, uint64_t seed) {
    request.spec.options.seed = seed;
    return request;
  }

  // A model of many small files with long names, which make a record of a megabyte.
  SubmitRequest LargeRecord(const std::string& client, uint64_t seed) {
    SubmitRequest request = Another(RequestOf(client, "model"), seed);
    for (int i = 0; i < 250; ++i) {
      request.spec.model.external_files[absl::StrCat(i, std::string(4000, 'n'))] =
          request.spec.model.graph;
    }
    return request;
  }

  JobResult LargeResult() {
    JobResult result = SomeResult();
    result.model = MustPut(Of(kResult, 'r'));
    return result;
  }

  // What the client has, in units. What its few small jobs take besides files is less than one.
  int64_t UnitsOf(const std::string& client) { return testing::BytesOf(*store_, client) / kUnit; }
};

TEST_F(QuotaTest, AJobThatGoesBeyondIsRefusedWithWhatThereIsToKnow) {
  MustSubmit(RequestOf("a", Of(5)));
  EXPECT_THAT(admission_->Submit(RequestOf("a", Of(6))),
              HasReason(Reason::kQuotaBytes,
                        AllOf(HasSubstr("has 50"), HasSubstr("bytes of files and records"),
                              HasSubstr("would add 60"), HasSubstr("limit is 1050000;"),
                              HasSubstr("delete jobs"))));
  EXPECT_THAT(refusals_, ElementsAre(HasReason(Reason::kQuotaBytes)));
  EXPECT_EQ(MustSubmit(RequestOf("b", Of(6))).disposition, Disposition::kNew);
  EXPECT_EQ(MustSubmit(RequestOf("a", Of(5, 'y'))).disposition, Disposition::kNew) << "all of it";
  EXPECT_THAT(admission_->Submit(RequestOf("a", Of(1))), HasReason(Reason::kQuotaBytes));
}

TEST_F(QuotaTest, NothingIsRefusedWithoutALimit) {
  limits_.max_bytes_per_client = 0;
  Restart();
  EXPECT_EQ(MustSubmit(RequestOf("a", Of(20))).disposition, Disposition::kNew);
}

TEST_F(QuotaTest, RecordsCountUntilTheirJobsAreDeleted) {
  const std::string id = MustSubmit(LargeRecord("a", 1)).job.id;
  ASSERT_OK(admission_->Cancel(id, ""));
  EXPECT_GE(UnitsOf("a"), 10);
  EXPECT_THAT(admission_->Submit(LargeRecord("a", 2)), HasReason(Reason::kQuotaBytes));
  EXPECT_EQ(MustSubmit(LargeRecord("b", 3)).disposition, Disposition::kNew);
  ASSERT_OK(admission_->Delete(id, false));
  EXPECT_EQ(MustSubmit(LargeRecord("a", 2)).disposition, Disposition::kNew);
}

TEST_F(QuotaTest, AFileCountsOnceForEachClient) {
  const SubmitRequest request = RequestOf("a", Of(8));
  MustSubmit(request);
  MustSubmit(Another(request, 1));
  SubmitRequest twice = Another(request, 2);
  twice.spec.model.external_files["w"] = twice.spec.model.graph;
  twice.spec.model.external_files["v"] = RequestOf("a", Of(1)).spec.model.graph;
  twice.spec.model.external_files["u"] = twice.spec.model.external_files["v"];
  MustSubmit(twice);
  EXPECT_EQ(UnitsOf("a"), 9);
  EXPECT_EQ(UnitsOf("b"), 0);
  MustSubmit(Another(RequestOf("b", Of(8)), 3));
  EXPECT_EQ(UnitsOf("b"), 8);
}

// Else a client could have as much again in uploads that it never ends.
TEST_F(QuotaTest, WhatAClientIsSendingCountsButForTheFilesOfTheJob) {
  const SubmitRequest request = RequestOf("a", Of(5));
  std::vector<BlobId> except;
  sent_->SetInTransit([&except](absl::string_view client, std::span<const BlobId> blobs) {
    except.assign(blobs.begin(), blobs.end());
    return client == "a" ? 6 * kUnit : 0;
  });
  EXPECT_THAT(admission_->Submit(request),
              HasReason(Reason::kQuotaBytes, HasSubstr("600000 that it is sending")));
  EXPECT_THAT(except, ElementsAre(request.spec.model.graph));
  EXPECT_EQ(MustSubmit(RequestOf("b", Of(5))).disposition, Disposition::kNew);
}

TEST_F(QuotaTest, AResultCountsOnceItIsThereAndFailsNoJob) {
  const Job job = MustSubmit(RequestOf("a", Of(5))).job;
  EXPECT_EQ(UnitsOf("a"), 5);
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, LargeResult()));
  EXPECT_EQ(MustGet(job.id).state, JobState::kSucceeded);
  EXPECT_EQ(UnitsOf("a"), 5 + kResult);
  // It adds no file but would have a result, too.
  EXPECT_THAT(admission_->Submit(Another(RequestOf("a", Of(5)), 1)),
              HasReason(Reason::kQuotaBytes));
}

TEST_F(QuotaTest, WhatIsThereAlreadyIsNotRefused) {
  const SubmitRequest request = RequestOf("a", Of(5), "r1");
  const std::string id = MustSubmit(request).job.id;
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, LargeResult()));
  ASSERT_GT(UnitsOf("a"), kMost);
  EXPECT_EQ(MustSubmit(request).job.id, id) << "the same request";
  const Admitted found = MustSubmit(RequestOf("a", Of(5)));
  EXPECT_EQ(found.disposition, Disposition::kCacheHit);
  EXPECT_EQ(found.job.id, id);
  const std::string other = MustSubmit(RequestOf("b", Of(10))).job.id;
  const Admitted joined = MustSubmit(RequestOf("a", Of(10)));
  EXPECT_EQ(joined.disposition, Disposition::kJoined);
  EXPECT_EQ(joined.job.id, other);
  EXPECT_EQ(UnitsOf("a"), 5 + kResult) << "it is the other one's";
}

TEST_F(QuotaTest, ADeletedJobMakesRoomOnceItsFilesAreGone) {
  const SubmitRequest request = RequestOf("a", Of(5));
  const std::string id = MustSubmit(request).job.id;
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, LargeResult()));
  ASSERT_OK(admission_->Delete(id, false));
  EXPECT_EQ(testing::BytesOf(*store_, "a"), (5 + kResult) * kUnit + 6) << "files without rows";
  EXPECT_THAT(admission_->Submit(RequestOf("a", Of(4, 'y'))), HasReason(Reason::kQuotaBytes));
  // When nobody has used them for long.
  clock_.SetForwardMs(int64_t{100} * 365 * 24 * 3'600'000);
  sent_->RemoveLeft();
  EXPECT_EQ(testing::BytesOf(*store_, "a"), 0);
  EXPECT_EQ(MustSubmit(RequestOf("a", Of(10))).disposition, Disposition::kNew);
}

TEST_F(QuotaTest, AJobThatChangesItsTurnCountsForItsNewClient) {
  MustSubmit(RequestOf("a", Of(1)));
  MustSubmit(RequestOf("a", Of(9)));
  EXPECT_EQ(MustSubmit(RequestOf("b", Of(9))).job.client, "b");
  EXPECT_EQ(UnitsOf("a"), 1);
  EXPECT_EQ(UnitsOf("b"), 9);
  EXPECT_EQ(MustSubmit(RequestOf("a", Of(9, 'y'))).disposition, Disposition::kNew);
}

TEST_F(QuotaTest, NobodyGetsAJobForWhichThereIsNoRoom) {
  MustSubmit(RequestOf("b", Of(5)));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, MakeError(Reason::kInternal, "oops")));
  MustSubmit(RequestOf("a", Of(1)));
  const std::string id = MustSubmit(RequestOf("a", Of(6))).job.id;
  const Admitted joined = MustSubmit(RequestOf("b", Of(6)));
  EXPECT_EQ(joined.job.id, id);
  EXPECT_EQ(joined.job.client, "a");
  EXPECT_EQ(UnitsOf("b"), 5);
}

}  // namespace
}  // namespace quotient::jobs
