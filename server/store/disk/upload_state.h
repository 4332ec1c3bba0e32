#pragma once

// The small file beside an upload that says what it shall become and how much of it is durable.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/blob_id.h"
#include "core/os/files.h"

namespace quotient::store {

struct UploadState {
  BlobId blob;
  int64_t committed = 0;
};

// Durable when this returns. Always of the same length, so that overwriting in place replaces it
// within one disk sector.
absl::Status WriteUploadState(const std::string& path, const UploadState& state);

// NOT_FOUND if there is none that can be read.
absl::StatusOr<UploadState> ReadUploadState(const std::string& path);

}  // namespace quotient::store
