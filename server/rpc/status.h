#pragma once

// Converts errors to grpc::Status, with code, message, and google.rpc details in the trailers. The
// server makes a grpc::Status for an error nowhere else.

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace quotient::rpc {

grpc::Status ToGrpc(const absl::Status& status);

}  // namespace quotient::rpc
