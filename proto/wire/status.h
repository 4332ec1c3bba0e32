#pragma once

// Converts errors to google.rpc.Status with an ErrorInfo, and back. Code, message and reason are
// kept.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "google/rpc/status.pb.h"

namespace quotient::wire {

// Adds a blob to a BLOB_MISSING error's list of blobs to upload.
void AddMissingBlob(const BlobId& blob, absl::Status* status);

// Whether the same call may succeed in a moment.
bool MayPass(const absl::Status& status);

// ErrorInfo.reason is the reason of `status`, or the name of its code if it has none. What may pass
// gets a RetryInfo, and a status with missing blobs gets a PreconditionFailure.
google::rpc::Status ToProto(const absl::Status& status);

// Replaces bytes that are not part of valid UTF-8 by '?'. Text from models can contain any bytes,
// but string fields of messages cannot.
std::string Utf8(absl::string_view text);

absl::Status FromProto(const google::rpc::Status& message);

}  // namespace quotient::wire
