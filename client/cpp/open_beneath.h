#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/os/files.h"

namespace quotient::client {

// Opens a file below a folder for reading. The name comes from an untrusted model: whatever it
// says, and whatever links are in its way, no file outside of the folder is opened.
// EXTERNAL_DATA_PATH if it would be, EXTERNAL_DATA_MISSING if there is no such file.
absl::StatusOr<os::Fd> OpenBeneath(const os::Fd& folder, absl::string_view location);

}  // namespace quotient::client
