#pragma once

// The methods that the server serves, and the names of status codes, as the labels of metrics have
// them. Public dashboards expect the words and the spelling of Go's gRPC.

#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace quotient::ops {

struct GrpcMethod {
  std::string service;
  std::string method;
  std::string type;  // "unary", "client_stream", "server_stream" or "bidi_stream"
};

// All methods. The last one stands for calls of methods that there are not: their names are chosen
// by the caller, and each would add a series of its own for ever.
std::span<const GrpcMethod> GrpcMethods();

// The method of a path "/SERVICE/METHOD". Lives as long as the process.
const GrpcMethod& FindGrpcMethod(absl::string_view path);

// "OK", "Canceled", ... in the order of their numbers.
std::span<const char* const> GrpcCodeNames();
// "Unknown" for a number that is none of a code.
absl::string_view GrpcCodeName(int code);

}  // namespace quotient::ops
