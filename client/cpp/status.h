#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace quotient::client {

// Converts the status of a call, including the reason given by the server. If the call exceeded its
// deadline or was dropped by a stopping server, returns UNAVAILABLE, so that it is retried.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace quotient::client
