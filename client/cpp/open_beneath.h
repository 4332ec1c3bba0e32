#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/os/files.h"

namespace quotient::client {

// Opens a file inside a folder for reading. `location` comes from an untrusted model: whatever it
// contains and whatever links are on the path, no file outside of the folder is opened. Returns
// EXTERNAL_DATA_PATH if the path leads outside, EXTERNAL_DATA_MISSING if the file cannot be opened.
absl::StatusOr<os::Fd> OpenBeneath(const os::Fd& folder, absl::string_view location);

}  // namespace quotient::client
