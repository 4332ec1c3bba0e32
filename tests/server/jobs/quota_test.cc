// How many bytes the jobs of a client may have stored.

#include <string>
#include <utility>

#include "server/jobs/admission.h"
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
  static constexpr int64_t kLimit = 10;
  static constexpr int64_t kResultBytes = 6;  // Of SomeResult, whose blobs are all the same.

  QuotaTest() {
    limits_ = {.max_queued = 20, .max_bytes_per_client = kLimit};
    Restart();
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

  int64_t BytesOf(const std::string& client) { return testing::BytesOf(*store_, client); }
};

TEST_F(QuotaTest, AJobThatGoesBeyondIsRefusedWithWhatThereIsToKnow) {
  MustSubmit(RequestOf("a", "12345"));
  EXPECT_THAT(
      admission_->Submit(RequestOf("a", "six...")),
      HasReason(Reason::kQuotaBytes, AllOf(HasSubstr("have 5 bytes"), HasSubstr("would add 6,"),
                                           HasSubstr("limit is 10;"), HasSubstr("delete jobs"))));
  EXPECT_THAT(refusals_, ElementsAre(HasReason(Reason::kQuotaBytes)));
  EXPECT_EQ(MustSubmit(RequestOf("b", "six...")).disposition, Disposition::kNew);
  EXPECT_EQ(MustSubmit(RequestOf("a", "five.")).disposition, Disposition::kNew) << "all of it";
  EXPECT_THAT(admission_->Submit(RequestOf("a", "1")), HasReason(Reason::kQuotaBytes));
}

TEST_F(QuotaTest, NothingIsRefusedWithoutALimit) {
  limits_.max_bytes_per_client = 0;
  Restart();
  EXPECT_EQ(MustSubmit(RequestOf("a", std::string(1000, 'x'))).disposition, Disposition::kNew);
}

TEST_F(QuotaTest, AFileCountsOnceForEachClient) {
  const SubmitRequest request = RequestOf("a", "12345678");
  MustSubmit(request);
  MustSubmit(Another(request, 1));
  SubmitRequest twice = Another(request, 2);
  twice.spec.model.external_files["w"] = twice.spec.model.graph;
  twice.spec.model.external_files["v"] = RequestOf("a", "v").spec.model.graph;
  twice.spec.model.external_files["u"] = twice.spec.model.external_files["v"];
  MustSubmit(twice);
  EXPECT_EQ(BytesOf("a"), 9);
  EXPECT_EQ(BytesOf("b"), 0);
  MustSubmit(Another(RequestOf("b", "12345678"), 3));
  EXPECT_EQ(BytesOf("b"), 8);
}

TEST_F(QuotaTest, AResultCountsOnceItIsThereAndFailsNoJob) {
  const Job job = MustSubmit(RequestOf("a", "12345")).job;
  EXPECT_EQ(BytesOf("a"), 5);
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  EXPECT_EQ(MustGet(job.id).state, JobState::kSucceeded);
  EXPECT_EQ(BytesOf("a"), 5 + kResultBytes);
  // It adds nothing but would have a result, too.
  EXPECT_THAT(admission_->Submit(Another(RequestOf("a", "12345"), 1)),
              HasReason(Reason::kQuotaBytes, HasSubstr("would add 0,")));
}

TEST_F(QuotaTest, WhatIsThereAlreadyIsNotRefused) {
  const SubmitRequest request = RequestOf("a", "12345", "r1");
  const std::string id = MustSubmit(request).job.id;
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  ASSERT_GT(BytesOf("a"), kLimit);
  EXPECT_EQ(MustSubmit(request).job.id, id) << "the same request";
  const Admitted found = MustSubmit(RequestOf("a", "12345"));
  EXPECT_EQ(found.disposition, Disposition::kCacheHit);
  EXPECT_EQ(found.job.id, id);
  const std::string other = MustSubmit(RequestOf("b", "1234567890")).job.id;
  const Admitted joined = MustSubmit(RequestOf("a", "1234567890"));
  EXPECT_EQ(joined.disposition, Disposition::kJoined);
  EXPECT_EQ(joined.job.id, other);
  EXPECT_EQ(BytesOf("a"), 5 + kResultBytes) << "it is the other one's";
}

TEST_F(QuotaTest, ADeletedJobMakesRoom) {
  const std::string id = MustSubmit(RequestOf("a", "12345")).job.id;
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  ASSERT_OK(admission_->Delete(id, false));
  EXPECT_EQ(BytesOf("a"), 0);
  EXPECT_EQ(MustSubmit(RequestOf("a", "1234567890")).disposition, Disposition::kNew);
}

TEST_F(QuotaTest, AJobThatChangesItsTurnCountsForItsNewClient) {
  MustSubmit(RequestOf("a", "x"));
  MustSubmit(RequestOf("a", "123456789"));
  EXPECT_EQ(MustSubmit(RequestOf("b", "123456789")).job.client, "b");
  EXPECT_EQ(BytesOf("a"), 1);
  EXPECT_EQ(BytesOf("b"), 9);
  EXPECT_EQ(MustSubmit(RequestOf("a", "987654321")).disposition, Disposition::kNew);
}

TEST_F(QuotaTest, NobodyGetsAJobForWhichThereIsNoRoom) {
  SubmitRequest ended = RequestOf("b", "12345");
  MustSubmit(ended);
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, MakeError(Reason::kInternal, "oops")));
  MustSubmit(RequestOf("a", "x"));
  const std::string id = MustSubmit(RequestOf("a", "six...")).job.id;
  const Admitted joined = MustSubmit(RequestOf("b", "six..."));
  EXPECT_EQ(joined.job.id, id);
  EXPECT_EQ(joined.job.client, "a");
  EXPECT_EQ(BytesOf("b"), 5);
}

}  // namespace
}  // namespace quotient::jobs
