#include "server/ops/grpc_methods.h"

#include <cstddef>
#include <iterator>
#include <vector>

#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "quotient/v1/blob.pb.h"
#include "quotient/v1/capabilities.pb.h"
#include "quotient/v1/model.pb.h"
#include "quotient/v1/optimizer.pb.h"

namespace quotient::ops {
namespace {

constexpr const char* kCodeNames[] = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};
constexpr int kUnknownCode = 2;

const char* TypeOf(const google::protobuf::MethodDescriptor& method) {
  if (method.client_streaming()) return method.server_streaming() ? "bidi_stream" : "client_stream";
  return method.server_streaming() ? "server_stream" : "unary";
}

// Adds the methods of the service in the file that has a message.
void AddService(const google::protobuf::Descriptor& message, std::vector<GrpcMethod>* methods) {
  const google::protobuf::ServiceDescriptor& service = *message.file()->service(0);
  for (int i = 0; i < service.method_count(); ++i) {
    const google::protobuf::MethodDescriptor& method = *service.method(i);
    methods->push_back({service.full_name(), method.name(), TypeOf(method)});
  }
}

std::vector<GrpcMethod> MakeMethods() {
  std::vector<GrpcMethod> methods;
  AddService(*v1::UploadRequest::descriptor(), &methods);
  AddService(*v1::Capabilities::descriptor(), &methods);
  AddService(*v1::InspectModelRequest::descriptor(), &methods);
  AddService(*v1::SubmitJobRequest::descriptor(), &methods);
  // These have no descriptor here. gRPC brings the last one itself.
  methods.push_back({"grpc.health.v1.Health", "Check", "unary"});
  methods.push_back({"grpc.health.v1.Health", "Watch", "server_stream"});
  methods.push_back(
      {"grpc.reflection.v1alpha.ServerReflection", "ServerReflectionInfo", "bidi_stream"});
  // gRPC takes the call of an unknown method for a stream in both directions.
  methods.push_back({"unknown", "unknown", "bidi_stream"});
  return methods;
}

}  // namespace

std::span<const GrpcMethod> GrpcMethods() {
  static const auto& methods = *new std::vector<GrpcMethod>(MakeMethods());
  return methods;
}

const GrpcMethod& FindGrpcMethod(absl::string_view path) {
  absl::ConsumePrefix(&path, "/");
  const size_t slash = path.find('/');
  for (const GrpcMethod& method : GrpcMethods()) {
    if (slash != absl::string_view::npos && path.substr(0, slash) == method.service &&
        path.substr(slash + 1) == method.method) {
      return method;
    }
  }
  return GrpcMethods().back();
}

std::span<const char* const> GrpcCodeNames() { return kCodeNames; }

absl::string_view GrpcCodeName(int code) {
  return kCodeNames[code >= 0 && code < static_cast<int>(std::size(kCodeNames)) ? code
                                                                                : kUnknownCode];
}

}  // namespace quotient::ops
