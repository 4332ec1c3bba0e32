#pragma once

// The state file of an upload, which says which blob is being uploaded, how many of its bytes are
// durable, and who uploads it.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/blob_id.h"
#include "core/os/files.h"

namespace quotient::store {

struct UploadState {
  BlobId blob;
  int64_t committed = 0;
  std::string client;  // Without spaces; more than 64 bytes are not kept.
};

// Writes the state, which is durable when this returns. The text always has the same length, so
// that it can be overwritten in place, within one disk sector. States of version 0.2 had no client;
// they can be read.
absl::Status WriteUploadState(const std::string& path, const UploadState& state);

// Returns NOT_FOUND if the file is missing or cannot be read.
absl::StatusOr<UploadState> ReadUploadState(const std::string& path);

}  // namespace quotient::store
