#pragma once

// Channel: one end of the socket between a program and its helper. Sends and receives frames
// (helper.proto). Neither end trusts the other: sizes are limited before anything is allocated.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/kernels/onnxruntime/helper.pb.h"
#include "core/os/files.h"
#include "core/os/message_channel.h"

namespace quotient::kernels::onnxruntime {

// The version of the messages.
inline constexpr int kHelperProtocol = 4;

// The exit status of a helper that had no memory left.
inline constexpr int kHelperOutOfMemory = 3;

// The words that tell the helper process whether it takes precedence (os::TakePrecedence).
inline constexpr char kTakesPrecedence[] = "first";
inline constexpr char kTakesTurns[] = "in-turn";

using os::kNever;

// For one thread. Fails with DEADLINE_EXCEEDED at the deadline (of Clock::System), UNAVAILABLE if
// the other end is gone, and INVALID_ARGUMENT if it sends what is no frame. After any failure the
// channel is of no use.
class Channel {
 public:
  explicit Channel(os::Fd socket) : messages_(std::move(socket)) {}

  // Sends a message, whose `blobs` is set, and the byte strings.
  absl::Status Send(ort::v1::Request request, std::span<const absl::string_view> blobs,
                    int64_t deadline_ns);
  absl::Status Send(ort::v1::Answer answer, std::span<const absl::string_view> blobs,
                    int64_t deadline_ns);

  // Receives a message and byte strings of at most `most_bytes` in all.
  absl::Status Receive(uint64_t most_bytes, int64_t deadline_ns, ort::v1::Request* request,
                       std::vector<std::string>* blobs);
  absl::Status Receive(uint64_t most_bytes, int64_t deadline_ns, ort::v1::Answer* answer,
                       std::vector<std::string>* blobs);

 private:
  template <typename Message>
  absl::Status SendFrame(Message& message, std::span<const absl::string_view> blobs,
                         int64_t deadline_ns);
  template <typename Message>
  absl::Status ReceiveFrame(uint64_t most_bytes, int64_t deadline_ns, Message* message,
                            std::vector<std::string>* blobs);

  os::MessageChannel messages_;
};

}  // namespace quotient::kernels::onnxruntime
