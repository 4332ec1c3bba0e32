#include "core/kernels/onnxruntime/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"

namespace quotient::kernels::onnxruntime {
namespace {

constexpr uint32_t kMostMessageBytes = 16 << 20;
constexpr int kMostBlobs = 1 << 18;

absl::Status Gone() { return absl::UnavailableError("the other process is gone"); }

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

absl::Status Channel::Send(ort::v1::Request request, std::span<const absl::string_view> blobs,
                           int64_t deadline_ns) {
  return SendFrame(request, blobs, deadline_ns);
}

absl::Status Channel::Send(ort::v1::Answer answer, std::span<const absl::string_view> blobs,
                           int64_t deadline_ns) {
  return SendFrame(answer, blobs, deadline_ns);
}

absl::Status Channel::Receive(uint64_t most_bytes, int64_t deadline_ns, ort::v1::Request* request,
                              std::vector<std::string>* blobs) {
  return ReceiveFrame(most_bytes, deadline_ns, request, blobs);
}

absl::Status Channel::Receive(uint64_t most_bytes, int64_t deadline_ns, ort::v1::Answer* answer,
                              std::vector<std::string>* blobs) {
  return ReceiveFrame(most_bytes, deadline_ns, answer, blobs);
}

template <typename Message>
absl::Status Channel::SendFrame(Message& message, std::span<const absl::string_view> blobs,
                                int64_t deadline_ns) {
  for (const absl::string_view blob : blobs) message.add_blobs(blob.size());
  std::string text;
  if (!message.SerializeToString(&text) || text.size() > kMostMessageBytes) {
    return absl::InvalidArgumentError("a message is too large");
  }
  const std::array<char, 4> size = EncodeSize(static_cast<uint32_t>(text.size()));
  QUOTIENT_RETURN_IF_ERROR(Write({size.data(), size.size()}, deadline_ns));
  QUOTIENT_RETURN_IF_ERROR(Write(text, deadline_ns));
  for (const absl::string_view blob : blobs) {
    QUOTIENT_RETURN_IF_ERROR(Write(blob, deadline_ns));
  }
  return absl::OkStatus();
}

template <typename Message>
absl::Status Channel::ReceiveFrame(uint64_t most_bytes, int64_t deadline_ns, Message* message,
                                   std::vector<std::string>* blobs) {
  std::array<char, 4> size_bytes;
  QUOTIENT_RETURN_IF_ERROR(Read(size_bytes, deadline_ns));
  const uint32_t size = DecodeSize(size_bytes);
  if (size > kMostMessageBytes) return absl::InvalidArgumentError("a message is too large");
  std::string text(size, '\0');
  QUOTIENT_RETURN_IF_ERROR(Read(text, deadline_ns));
  if (!message->ParseFromString(text)) return absl::InvalidArgumentError("no message");
  if (message->blobs_size() > kMostBlobs) return absl::InvalidArgumentError("too many blobs");
  blobs->clear();
  for (const uint64_t blob_size : message->blobs()) {
    if (blob_size > most_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(blob_size, " bytes were announced, of which ", most_bytes, " may come"));
    }
    most_bytes -= blob_size;
    std::string& blob = blobs->emplace_back(blob_size, '\0');
    QUOTIENT_RETURN_IF_ERROR(Read(blob, deadline_ns));
  }
  return absl::OkStatus();
}

absl::Status Channel::Write(absl::string_view bytes, int64_t deadline_ns) {
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

absl::Status Channel::Read(std::span<char> bytes, int64_t deadline_ns) {
  while (!bytes.empty()) {
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<size_t>(got));
    } else if (got == 0 || !WouldBlock()) {
      return Gone();
    } else {
      QUOTIENT_RETURN_IF_ERROR(Await(POLLIN, deadline_ns));
    }
  }
  return absl::OkStatus();
}

absl::Status Channel::Await(int16_t events, int64_t deadline_ns) {
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

}  // namespace quotient::kernels::onnxruntime
