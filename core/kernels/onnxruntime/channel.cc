#include "core/kernels/onnxruntime/channel.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace quotient::kernels::onnxruntime {
namespace {

constexpr int kMostBlobs = 1 << 18;

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
  QUOTIENT_RETURN_IF_ERROR(messages_.Send(message.SerializeAsString(), deadline_ns));
  for (const absl::string_view blob : blobs) {
    QUOTIENT_RETURN_IF_ERROR(messages_.Write(blob, deadline_ns));
  }
  return absl::OkStatus();
}

template <typename Message>
absl::Status Channel::ReceiveFrame(uint64_t most_bytes, int64_t deadline_ns, Message* message,
                                   std::vector<std::string>* blobs) {
  std::string text;
  QUOTIENT_RETURN_IF_ERROR(messages_.Receive(&text, deadline_ns));
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
    QUOTIENT_RETURN_IF_ERROR(messages_.Read(blob, deadline_ns));
  }
  return absl::OkStatus();
}

}  // namespace quotient::kernels::onnxruntime
