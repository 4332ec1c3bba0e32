#include "client/cpp/status.h"

#include "google/rpc/status.pb.h"
#include "proto/wire/status.h"

namespace quotient::client {

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  google::rpc::Status details;
  if (!status.error_details().empty() && details.ParseFromString(status.error_details()) &&
      details.code() != 0) {
    return wire::FromProto(details);
  }
  // A status without details comes from gRPC, not from the service.
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::UnavailableError("the server does not answer");
  }
  // A stopping server drops its streams in this way. The interrupt has the same effect, but callers
  // check for it first.
  if (status.error_code() == grpc::StatusCode::CANCELLED) {
    return absl::UnavailableError("the server dropped the call");
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace quotient::client
