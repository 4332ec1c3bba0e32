// Clients that open calls and send no request.

#include "server/rpc/unsent_requests.h"

#include <google/protobuf/descriptor.h>

#include <memory>
#include <string>
#include <vector>

#include "server/ops/grpc_methods.h"
#include "server/rpc/call_kind.h"
#include "tests/server/rpc/services_fixture.h"
#include "tests/server/rpc/stalled_call.h"

namespace quotient::rpc {
namespace {

constexpr char kGetJob[] = "/quotient.v1.OptimizerService/GetJob";

class UnsentRequestsTest : public ServicesTest {
 protected:
  void Open(const std::string& path) {
    calls_.push_back(std::make_unique<StalledCall>(channel_, path));
  }

  // Opens one call after the other, until the server ends the first one. Returns how. Nothing if
  // that never happens.
  std::optional<grpc::Status> OpenUntilTheFirstEnds(const std::string& path) {
    std::optional<grpc::Status> end;
    while (!end.has_value() && calls_.size() < 500) {
      Open(path);
      clock_.AdvanceMs(1);
      end = calls_.front()->EndWithin(absl::Milliseconds(calls_.size() > 24 ? 20 : 1));
    }
    return end;
  }

  const std::shared_ptr<grpc::Channel> channel_ =
      grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
  std::vector<std::unique_ptr<StalledCall>> calls_;
};

// One client may have 24 such calls, whatever it calls.
TEST_F(UnsentRequestsTest, SilentCallsGiveWay) {
  for (const ops::GrpcMethod& method : ops::GrpcMethods()) {
    const std::string path = absl::StrCat("/", method.service, "/", method.method);
    const CallKind kind = KindOf(path);
    if (kind == CallKind::kUpload || kind == CallKind::kReflection) continue;
    if (method.service == "unknown") continue;  // These are answered without their requests.
    const std::optional<grpc::Status> end = OpenUntilTheFirstEnds(path);
    ASSERT_TRUE(end.has_value()) << path << " knows no bound";
    EXPECT_EQ(end->error_code(), grpc::StatusCode::UNAVAILABLE) << path;
    EXPECT_GT(calls_.size(), 24) << path;
    calls_.clear();
  }
}

TEST_F(UnsentRequestsTest, WhoSendsIsAnsweredBesideSilentCalls) {
  const std::string job = Submit("model").name();
  ASSERT_TRUE(OpenUntilTheFirstEnds(kGetJob).has_value());
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_name(job);
  v1::Job answer;
  EXPECT_OK(Status(jobs_stub_->GetJob(&context, request, &answer)));
}

TEST_F(UnsentRequestsTest, NobodyIsSilentForEver) {
  Open(kGetJob);
  Open("/quotient.v1.OptimizerService/WatchJob");
  for (const auto& call : calls_) {
    std::optional<grpc::Status> end;
    for (int i = 0; i < 1000 && !end.has_value(); ++i) {
      clock_.AdvanceMs(61'000);
      requests_.CancelIdle();
      end = call->EndWithin(absl::Milliseconds(20));
    }
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->error_code(), grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_F(UnsentRequestsTest, ARequestThatCannotBeReadIsRefused) {
  google::protobuf::Int32Value response;
  const grpc::Status status = Call("/quotient.v1.OptimizerService/GetJob", &response, "\xff");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
}

TEST(CallKindTest, FollowsTheDescriptors) {
  const auto* const pool = google::protobuf::DescriptorPool::generated_pool();
  for (const ops::GrpcMethod& method : ops::GrpcMethods()) {
    const std::string name = absl::StrCat(method.service, ".", method.method);
    const auto* const descriptor = pool->FindMethodByName(name);
    if (descriptor == nullptr) continue;  // Brought by gRPC, or unknown.
    const CallKind kind = KindOf(absl::StrCat("/", method.service, "/", method.method));
    EXPECT_EQ(kind == CallKind::kUpload,
              descriptor->client_streaming() && !descriptor->server_streaming())
        << name;
    EXPECT_EQ(kind == CallKind::kReflection,
              descriptor->client_streaming() && descriptor->server_streaming())
        << name;
    EXPECT_EQ(kind == CallKind::kDownload || kind == CallKind::kWatch,
              !descriptor->client_streaming() && descriptor->server_streaming())
        << name;
  }
  EXPECT_EQ(KindOf("/grpc.health.v1.Health/Watch"), CallKind::kWatch);
  EXPECT_EQ(KindOf("/grpc.health.v1.Health/Check"), CallKind::kAnswersOnce);
  EXPECT_EQ(KindOf("/made.up/Method"), CallKind::kAnswersOnce);
}

}  // namespace
}  // namespace quotient::rpc
