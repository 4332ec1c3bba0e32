#pragma once

// MessageChannel: one end of a socket between two processes. What it sends are messages: a size
// (four bytes, little-endian) and so many bytes; or bytes alone. Neither end trusts the other:
// sizes are limited before anything is allocated, and memory is taken for what has come, not for
// what is announced.

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/os/files.h"

namespace quotient::os {

// No deadline.
inline constexpr int64_t kNever = INT64_MAX;

// One thread may send while another one receives. Fails with DEADLINE_EXCEEDED at the deadline (of
// Clock::System), UNAVAILABLE if the other end is gone, and INVALID_ARGUMENT if a message is too
// large. After any failure the channel is of no use.
class MessageChannel {
 public:
  explicit MessageChannel(Fd socket, uint32_t most_message_bytes = 16 << 20)
      : socket_(std::move(socket)), most_message_bytes_(most_message_bytes) {}

  absl::Status Send(absl::string_view message, int64_t deadline_ns);
  absl::Status Receive(std::string* message, int64_t deadline_ns);

  absl::Status Write(absl::string_view bytes, int64_t deadline_ns);
  absl::Status Read(std::span<char> bytes, int64_t deadline_ns);

  // Waits until there is something to receive, or the other end is gone. DEADLINE_EXCEEDED leaves
  // the channel as it is.
  absl::Status AwaitInput(int64_t deadline_ns);

  // The other end sees that this one is gone.
  void Close() { socket_.Close(); }

 private:
  // Waits until the socket is ready for `events` of poll.
  absl::Status Await(int16_t events, int64_t deadline_ns);

  Fd socket_;
  uint32_t most_message_bytes_;
};

}  // namespace quotient::os
