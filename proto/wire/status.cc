#include "proto/wire/status.h"

#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/reason.h"
#include "core/base/utf8.h"
#include "google/rpc/error_details.pb.h"

namespace quotient::wire {
namespace {

constexpr char kDomain[] = "quotient.dev";
// Type URL of the status payload that lists missing blobs, one per line.
constexpr char kMissingUrl[] = "quotient.dev/missing";
constexpr int kMaxViolations = 16;  // Errors are sent in HTTP/2 trailers, which must be small.
constexpr int kRetryAfterSeconds = 1;

std::string ReasonText(const absl::Status& status) {
  if (const std::optional<Reason> reason = GetReason(status); reason.has_value()) {
    return std::string(ReasonName(*reason));
  }
  return absl::StatusCodeToString(status.code());
}

void AddPreconditionFailure(const absl::Cord& missing, google::rpc::Status* message) {
  google::rpc::PreconditionFailure failure;
  const std::string lines(missing);
  for (absl::string_view blob : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    if (failure.violations_size() == kMaxViolations) break;
    auto* violation = failure.add_violations();
    violation->set_type("MISSING");
    violation->set_subject(absl::StrCat("blobs/", blob));
  }
  message->add_details()->PackFrom(failure);
}

}  // namespace

std::string Utf8(absl::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      valid += '?';
    } else {
      absl::StrAppend(&valid, text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

void AddMissingBlob(const BlobId& blob, absl::Status* status) {
  absl::Cord lines = status->GetPayload(kMissingUrl).value_or(absl::Cord());
  lines.Append(absl::StrCat(blob.Text(), "\n"));
  status->SetPayload(kMissingUrl, lines);
}

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || GetReason(status) == Reason::kQuotaCalls;
}

google::rpc::Status ToProto(const absl::Status& status) {
  google::rpc::Status message;
  message.set_code(static_cast<int>(status.code()));
  message.set_message(Utf8(status.message()));
  if (status.ok()) return message;
  google::rpc::ErrorInfo info;
  info.set_reason(ReasonText(status));
  info.set_domain(kDomain);
  message.add_details()->PackFrom(info);
  if (const auto missing = status.GetPayload(kMissingUrl))
    AddPreconditionFailure(*missing, &message);
  if (MayPass(status)) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(kRetryAfterSeconds);
    message.add_details()->PackFrom(retry);
  }
  return message;
}

absl::Status FromProto(const google::rpc::Status& message) {
  if (message.code() == 0) return absl::OkStatus();
  for (const google::protobuf::Any& detail : message.details()) {
    google::rpc::ErrorInfo info;
    if (!detail.Is<google::rpc::ErrorInfo>() || !detail.UnpackTo(&info)) continue;
    if (const auto reason = ReasonFromName(info.reason())) {
      return MakeError(*reason, message.message());
    }
  }
  return absl::Status(static_cast<absl::StatusCode>(message.code()), message.message());
}

}  // namespace quotient::wire
