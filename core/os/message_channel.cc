#include "core/os/message_channel.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "core/base/clock.h"
#include "core/base/status_macros.h"

namespace quotient::os {
namespace {

absl::Status Gone() { return absl::UnavailableError("the other process is gone"); }
absl::Status TooLarge() { return absl::InvalidArgumentError("a message is too large"); }

// How much memory is taken at a time for a message that is being received.
constexpr size_t kStepBytes = 1 << 20;

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

std::array<char, 4> EncodeSize(uint32_t size) {
  return {static_cast<char>(size), static_cast<char>(size >> 8), static_cast<char>(size >> 16),
          static_cast<char>(size >> 24)};
}

uint32_t DecodeSize(const std::array<char, 4>& bytes) {
  uint32_t size = 0;
  for (int i = 3; i >= 0; --i) size = size << 8 | static_cast<uint8_t>(bytes[i]);
  return size;
}

}  // namespace

absl::Status MessageChannel::Send(absl::string_view message, int64_t deadline_ns) {
  if (message.size() > most_message_bytes_) return TooLarge();
  const std::array<char, 4> size = EncodeSize(static_cast<uint32_t>(message.size()));
  QUOTIENT_RETURN_IF_ERROR(Write({size.data(), size.size()}, deadline_ns));
  return Write(message, deadline_ns);
}

absl::Status MessageChannel::Receive(std::string* message, int64_t deadline_ns) {
  std::array<char, 4> size_bytes;
  QUOTIENT_RETURN_IF_ERROR(Read(size_bytes, deadline_ns));
  const uint32_t size = DecodeSize(size_bytes);
  if (size > most_message_bytes_) return TooLarge();
  message->clear();
  // The size is what the other end claims, so memory grows only with what it sends.
  while (message->size() < size) {
    const size_t before = message->size();
    message->resize(std::min<size_t>(size, before + kStepBytes));
    QUOTIENT_RETURN_IF_ERROR(
        Read(std::span(message->data() + before, message->size() - before), deadline_ns));
  }
  return absl::OkStatus();
}

absl::Status MessageChannel::Write(absl::string_view bytes, int64_t deadline_ns) {
  while (!bytes.empty()) {
    const ssize_t sent =
        send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (!WouldBlock()) {
      return Gone();
    } else {
      QUOTIENT_RETURN_IF_ERROR(Await(POLLOUT, deadline_ns));
    }
  }
  return absl::OkStatus();
}

absl::Status MessageChannel::Read(std::span<char> bytes, int64_t deadline_ns) {
  while (!bytes.empty()) {
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<size_t>(got));
    } else if (got == 0 || !WouldBlock()) {
      return Gone();
    } else {
      QUOTIENT_RETURN_IF_ERROR(AwaitInput(deadline_ns));
    }
  }
  return absl::OkStatus();
}

absl::Status MessageChannel::AwaitInput(int64_t deadline_ns) { return Await(POLLIN, deadline_ns); }

absl::Status MessageChannel::Await(int16_t events, int64_t deadline_ns) {
  constexpr int64_t kLongestNs = 1'000'000'000;
  for (;;) {
    const int64_t left_ns = deadline_ns - Clock::System().NowNs();
    if (left_ns <= 0) return absl::DeadlineExceededError("no answer in time");
    pollfd waiting{.fd = socket_.get(), .events = events, .revents = 0};
    const int timeout_ms = static_cast<int>(std::min(left_ns, kLongestNs) / 1'000'000) + 1;
    const int ready = poll(&waiting, 1, timeout_ms);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return Gone();
  }
}

}  // namespace quotient::os
