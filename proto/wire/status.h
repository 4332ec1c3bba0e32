#pragma once

// Failures as google.rpc.Status with an ErrorInfo, and back: code, message and reason survive.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "google/rpc/status.pb.h"

namespace quotient::wire {

// Says in a BLOB_MISSING which blob to upload; once per blob.
void AddMissingBlob(const BlobId& blob, absl::Status* status);

// ErrorInfo.reason is the status's reason, or the code's name where it carries none. UNAVAILABLE
// has a RetryInfo, BLOB_MISSING a PreconditionFailure.
google::rpc::Status ToProto(const absl::Status& status);

// `text` with bytes that are not UTF-8 replaced by '?': messages refuse them, models hold anything.
std::string Utf8(absl::string_view text);

absl::Status FromProto(const google::rpc::Status& message);

}  // namespace quotient::wire
