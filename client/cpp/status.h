#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace quotient::client {

// The failure of a call with the reason that the server gave. A call that ran out of its time, or
// was cut off by a server going down, counts as UNAVAILABLE: trying again is right.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace quotient::client
