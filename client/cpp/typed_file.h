#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/os/files.h"

namespace quotient::client {

// A file whose path the user has typed, so that it cannot be opened is a mistake on the command
// line: OPTION_INVALID naming it.
absl::StatusOr<std::unique_ptr<os::MappedFile>> MapTypedFile(const std::string& path);

}  // namespace quotient::client
