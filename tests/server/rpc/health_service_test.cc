#include "server/rpc/health_service.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/rpc/services_fixture.h"

namespace quotient::rpc {
namespace {

constexpr int kServing = 1, kNotServing = 2, kUnknown = 3;

// A stream of Watch.
class Watcher {
 public:
  Watcher(const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
    HealthService::Request request;
    request.set_value(service);
    const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Watch",
                                           grpc::internal::RpcMethod::SERVER_STREAMING);
    reader_.reset(grpc::internal::ClientReaderFactory<HealthService::Response>::Create(
        channel.get(), method, &context_, request));
  }
  ~Watcher() { context_.TryCancel(); }

  // 0 if the stream has ended.
  int Next() {
    HealthService::Response response;
    return reader_->Read(&response) ? response.value() : 0;
  }
  grpc::Status Finish() { return reader_->Finish(); }
  void Cancel() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<HealthService::Response>> reader_;
};

class HealthServiceTest : public ServicesTest {
 protected:
  std::unique_ptr<Watcher> Watch(const std::string& service = "") {
    return std::make_unique<Watcher>(channel_, service);
  }

  const std::shared_ptr<grpc::Channel> channel_ =
      grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
};

TEST_F(HealthServiceTest, WatchTellsEachChange) {
  const auto watcher = Watch();
  EXPECT_EQ(watcher->Next(), kServing);
  server_->SetServing(true);  // No change.
  server_->SetServing(false);
  EXPECT_EQ(watcher->Next(), kNotServing);
  server_->SetServing(true);
  EXPECT_EQ(watcher->Next(), kServing);
  EXPECT_EQ(Watch("live")->Next(), kServing);
}

TEST_F(HealthServiceTest, WhatIsNotThereIsUnknown) {
  EXPECT_EQ(Watch("no such service")->Next(), kUnknown);
  google::protobuf::Int32Value response;
  EXPECT_EQ(Call("/grpc.health.v1.Health/Check", &response, "no such service").error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Call("/grpc.health.v1.Health/Check", &response, std::string(201, 'n')).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(HealthServiceTest, AClientHasSoManyWatches) {
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < ServerSettings().health_watches.per_peer; ++i) {
    watchers.push_back(Watch());
    ASSERT_EQ(watchers.back()->Next(), kServing) << i;
  }
  const auto one_more = Watch();
  EXPECT_EQ(one_more->Next(), 0);
  EXPECT_THAT(Status(one_more->Finish()), testing::HasReason(Reason::kQuotaCalls));
  watchers.front()->Cancel();
  EXPECT_FALSE(watchers.front()->Finish().ok());
  int status = 0;
  // Until the server has seen it, too.
  for (int i = 0; i < 1000 && status == 0; ++i) status = Watch()->Next();
  EXPECT_EQ(status, kServing);
}

TEST_F(HealthServiceTest, TheServerEndsBesideItsWatchers) {
  const auto watcher = Watch();
  EXPECT_EQ(watcher->Next(), kServing);
  StopServer();
  EXPECT_EQ(watcher->Next(), 0);
  EXPECT_THAT(Status(watcher->Finish()), testing::HasReason(Reason::kDraining));
}

}  // namespace
}  // namespace quotient::rpc
