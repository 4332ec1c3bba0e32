#pragma once

// The device that a file is a snapshot of: --device-snapshot.

#include "absl/status/statusor.h"
#include "client/cli/settings.h"

namespace quotient::cli {

// The settings with that device in their options, and the file's bytes; as they are where no file
// is named. OPTION_INVALID naming the file, and in it line and field, if it is no snapshot.
absl::StatusOr<Settings> WithDeviceSnapshot(Settings settings);

}  // namespace quotient::cli
