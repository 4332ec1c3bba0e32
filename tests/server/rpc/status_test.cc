#include "server/rpc/status.h"

#include "google/rpc/status.pb.h"
#include "server/rpc/addresses.h"
#include "server/rpc/page_token.h"
#include "server/rpc/server.h"
#include "tests/support/status_matchers.h"

namespace quotient::rpc {
namespace {

using ::quotient::testing::HasReason;

TEST(StatusTest, DetailsTravelAlong) {
  const grpc::Status status = ToGrpc(MakeError(Reason::kModelCyclic, "node 'n'"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "node 'n'");
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.details_size(), 1);
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
}

TEST(StatusTest, LongMessagesAreCutSoThatHeadersHoldThem) {
  const grpc::Status status =
      ToGrpc(MakeError(Reason::kModelMalformed, std::string(100'000, '\xc3')));
  EXPECT_LE(status.error_details().size() + status.error_message().size(), 4096u);
}

TEST(PageTokenTest, BelongsToItsList) {
  const jobs::JobFilter filter{.state = jobs::JobState::kFailed, .client = "a"};
  const std::string token = MakePageToken(42, filter);
  ASSERT_OK_AND_ASSIGN(const int64_t number, ReadPageToken(token, filter));
  EXPECT_EQ(number, 42);
  const jobs::JobFilter others[] = {
      {},
      {.state = jobs::JobState::kFailed},
      {.client = "a"},
      {.state = jobs::JobState::kFailed, .client = "a", .created_after_ms = 1}};
  for (const jobs::JobFilter& other : others) {
    EXPECT_THAT(ReadPageToken(token, other), HasReason(Reason::kBadPageToken));
  }
  for (const char* bad : {"", "42", "42.", "-1.0", "x.y", "43.0123456789abcdef"}) {
    EXPECT_THAT(ReadPageToken(bad, {}), HasReason(Reason::kBadPageToken)) << bad;
  }
}

TEST(ServerTest, LoopbackIsRecognised) {
  for (const char* address : {"127.0.0.1:0", "127.1.2.3:80", "localhost:1", "[::1]:0", "unix:/x"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
  for (const char* address : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "example.org:1", ":1", "",
                              "127.example.org:1", "127.0.0.1:0,0.0.0.0:1", "127.0.0:1"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

TEST(ServerTest, OtherMachinesAreLetInOnlyOnPurpose) {
  EXPECT_FALSE(GrpcServer::Start({.listen = "0.0.0.0:0"}, {}, {}).ok());
  EXPECT_OK(GrpcServer::Start({.listen = "0.0.0.0:0", .allow_remote = true}, {}, {}));
}

}  // namespace
}  // namespace quotient::rpc
