#include "server/rpc/status.h"

#include "absl/strings/string_view.h"
#include "proto/wire/status.h"

namespace quotient::rpc {
namespace {

// Status and details are sent in HTTP/2 trailers, of which a peer accepts 8 KiB by default.
constexpr size_t kMaxMessageBytes = 1024;

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  google::rpc::Status details = wire::ToProto(status);
  details.set_message(wire::Utf8(absl::string_view(details.message()).substr(0, kMaxMessageBytes)));
  return grpc::Status(static_cast<grpc::StatusCode>(details.code()), details.message(),
                      details.SerializeAsString());
}

}  // namespace quotient::rpc
