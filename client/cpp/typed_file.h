#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/os/files.h"

namespace quotient::client {

// Maps a file whose path the user has typed. If it cannot be opened, the command line is wrong:
// returns OPTION_INVALID, naming the file.
absl::StatusOr<std::unique_ptr<os::MappedFile>> MapTypedFile(const std::string& path);

}  // namespace quotient::client
