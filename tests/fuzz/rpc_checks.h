#pragma once

// What every answer of a service promises.

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <memory>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/fuzz/check.h"

namespace quotient::testing {

// What gRPC clients accept by default.
inline constexpr size_t kMostTrailerBytes = 8 << 10;
inline constexpr size_t kMostAnswerBytes = 4 << 20;

// An error has a code that does not put the blame on the server, a message, a reason in its
// details, and fits into trailers.
inline void CheckError(const grpc::Status& status) {
  const absl::Status shown(static_cast<absl::StatusCode>(status.error_code()),
                           status.error_message());
  Check(status.error_code() != grpc::INTERNAL && status.error_code() != grpc::UNKNOWN &&
            status.error_code() > 0 && status.error_code() <= grpc::UNAUTHENTICATED,
        "the code of an error is the caller's business", shown);
  Check(!status.error_message().empty(), "an error has a message", shown);
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  Check(details.ParseFromString(status.error_details()) && details.details_size() > 0 &&
            details.details(0).UnpackTo(&info) && !info.reason().empty(),
        "an error has a reason", shown);
  Check(details.code() == status.error_code() && details.message() == status.error_message(),
        "details say the same as the status", shown);
  // As base64, and with the message percent-encoded at worst.
  Check(
      status.error_details().size() * 4 / 3 + 3 * status.error_message().size() < kMostTrailerBytes,
      "an error fits into trailers", shown);
}

// The answer can be read by a client.
inline void CheckAnswer(const google::protobuf::Message& answer) {
  const std::string bytes = answer.SerializeAsString();
  Check(bytes.size() < kMostAnswerBytes, "clients accept an answer");
  const std::unique_ptr<google::protobuf::Message> read(answer.New());
  Check(read->ParseFromString(bytes), "an answer can be parsed, texts in it are UTF-8");
}

}  // namespace quotient::testing
