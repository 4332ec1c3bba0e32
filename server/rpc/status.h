#pragma once

// The only place that makes a grpc::Status: code, message, and google.rpc details in the trailer.

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace quotient::rpc {

grpc::Status ToGrpc(const absl::Status& status);

}  // namespace quotient::rpc
