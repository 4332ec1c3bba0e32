#include "server/ops/grpc_methods.h"

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace quotient::ops {
namespace {

TEST(GrpcMethodsTest, NoServiceIsForgotten) {
  std::set<std::string> services;
  for (const GrpcMethod& method : GrpcMethods()) services.insert(method.service);
  int found = 0;
  for (const auto& file : std::filesystem::directory_iterator("proto/quotient/v1")) {
    std::ifstream proto(file.path());
    for (std::string word; proto >> word;) {
      if (word != "service" || !(proto >> word) || !absl::EndsWith(word, "Service")) continue;
      EXPECT_TRUE(services.contains(absl::StrCat("quotient.v1.", word))) << word;
      ++found;
    }
  }
  EXPECT_GE(found, 4);
}

TEST(GrpcMethodsTest, MethodsAreFoundByTheirPaths) {
  const auto type_of = [](const char* path) { return FindGrpcMethod(path).type; };
  EXPECT_EQ(type_of("/quotient.v1.OptimizerService/SubmitJob"), "unary");
  EXPECT_EQ(type_of("/quotient.v1.OptimizerService/WatchJob"), "server_stream");
  EXPECT_EQ(type_of("/quotient.v1.BlobService/Upload"), "client_stream");
  EXPECT_EQ(type_of("/grpc.health.v1.Health/Watch"), "server_stream");
  EXPECT_EQ(FindGrpcMethod("/quotient.v1.BlobService/Download").method, "Download");
  for (const char* path : {"/quotient.v1.BlobService/Made", "/made.up/Download", "Download", ""}) {
    EXPECT_EQ(FindGrpcMethod(path).service, "unknown") << path;
  }
}

TEST(GrpcMethodsTest, CodesAreSpelledAsInGo) {
  EXPECT_EQ(GrpcCodeName(grpc::StatusCode::OK), "OK");
  EXPECT_EQ(GrpcCodeName(grpc::StatusCode::CANCELLED), "Canceled");
  EXPECT_EQ(GrpcCodeName(grpc::StatusCode::FAILED_PRECONDITION), "FailedPrecondition");
  EXPECT_EQ(GrpcCodeName(grpc::StatusCode::UNIMPLEMENTED), "Unimplemented");
  EXPECT_EQ(GrpcCodeName(grpc::StatusCode::UNAUTHENTICATED), "Unauthenticated");
  EXPECT_EQ(GrpcCodeName(99), "Unknown");
  EXPECT_EQ(GrpcCodeName(-1), "Unknown");
}

}  // namespace
}  // namespace quotient::ops
