#pragma once

// What nobody should send to a server.

#include <grpcpp/channel.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "core/base/rng.h"

namespace quotient::bench {

std::string RandomBytes(Rng& rng, size_t size);

// Sends a malformed message to one of some methods, of which one does not exist. INTERNAL if it was
// taken for a call.
absl::Status SendGarbageCall(const std::shared_ptr<grpc::Channel>& channel, Rng& rng);

// Sends bytes that are not HTTP/2 to a server on this machine, "HOST:PORT".
absl::Status SendGarbageBytes(const std::string& server, Rng& rng);

}  // namespace quotient::bench
