#pragma once

// The option --device-snapshot.

#include "absl/status/statusor.h"
#include "client/cli/settings.h"

namespace quotient::cli {

// Reads the file named by --device-snapshot and adds its bytes and its device to the settings.
// Returns the settings unchanged if no file is named. Returns OPTION_INVALID, naming the file, line
// and field, if the file is not a snapshot.
absl::StatusOr<Settings> WithDeviceSnapshot(Settings settings);

}  // namespace quotient::cli
