#include "proto/wire/status.h"

#include "google/rpc/error_details.pb.h"
#include "tests/support/status_matchers.h"

namespace quotient::wire {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::StatusIs;

template <typename Detail>
std::vector<Detail> Details(const google::rpc::Status& status) {
  std::vector<Detail> found;
  for (const auto& any : status.details()) {
    if (Detail detail; any.UnpackTo(&detail)) found.push_back(detail);
  }
  return found;
}

TEST(StatusTest, CodeMessageAndReasonSurvive) {
  const absl::Status status = MakeError(Reason::kShapeMissing, "input 'x'");
  EXPECT_EQ(FromProto(ToProto(status)), status);
}

TEST(StatusTest, EveryErrorHasAReason) {
  const auto infos = Details<google::rpc::ErrorInfo>(ToProto(absl::NotFoundError("blob")));
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].reason(), "NOT_FOUND");
  EXPECT_EQ(infos[0].domain(), "quotient.dev");
  EXPECT_THAT(FromProto(ToProto(absl::NotFoundError("blob"))),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(StatusTest, UnavailableSaysWhenToTryAgain) {
  EXPECT_EQ(Details<google::rpc::RetryInfo>(ToProto(MakeError(Reason::kQueueFull, ""))).size(), 1u);
  EXPECT_EQ(Details<google::rpc::RetryInfo>(ToProto(MakeError(Reason::kQuotaCalls, ""))).size(),
            1u);
  EXPECT_TRUE(Details<google::rpc::RetryInfo>(ToProto(MakeError(Reason::kInternal, ""))).empty());
}

TEST(StatusTest, MissingBlobsAreListed) {
  absl::Status status = MakeError(Reason::kBlobMissing, "two");
  AddMissingBlob(BlobId::Of("a"), &status);
  AddMissingBlob(BlobId::Of("b"), &status);
  const auto failures = Details<google::rpc::PreconditionFailure>(ToProto(status));
  ASSERT_EQ(failures.size(), 1u);
  ASSERT_EQ(failures[0].violations_size(), 2);
  EXPECT_EQ(failures[0].violations(1).type(), "MISSING");
  EXPECT_EQ(failures[0].violations(1).subject(), "blobs/" + BlobId::Of("b").Text());
}

TEST(StatusTest, TheListOfMissingBlobsIsBounded) {
  absl::Status status = MakeError(Reason::kBlobMissing, "many");
  for (int i = 0; i < 100; ++i) AddMissingBlob(BlobId::Of(std::to_string(i)), &status);
  EXPECT_LT(ToProto(status).ByteSizeLong(), 4096u);
}

TEST(StatusTest, OkIsOk) { EXPECT_OK(FromProto(ToProto(absl::OkStatus()))); }

TEST(Utf8Test, OnlyBytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(Utf8("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(Utf8("\xff"), "?");
  EXPECT_EQ(Utf8("a\xc3"), "a?");               // cut short
  EXPECT_EQ(Utf8("\xc0\x80"), "??");            // overlong
  EXPECT_EQ(Utf8("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(Utf8("\xf4\x90\x80\x80"), "????");  // past the last code point
}

}  // namespace
}  // namespace quotient::wire
