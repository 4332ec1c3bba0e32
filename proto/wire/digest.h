#pragma once

// Converts between v1::Digest and BlobId, which all other code uses.

#include "absl/status/statusor.h"
#include "core/base/blob_id.h"
#include "quotient/v1/common.pb.h"

namespace quotient::wire {

v1::Digest ToProto(const BlobId& id);

// Returns BAD_DIGEST if the text is not a SHA-256 or the size is negative.
absl::StatusOr<BlobId> FromProto(const v1::Digest& digest);

}  // namespace quotient::wire
