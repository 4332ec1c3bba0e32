#pragma once

// The file of --depfile: what a build system has to look at to know whether the result is still up
// to date, in the syntax of make, which ninja and CMake read as well.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::cli {

// A rule without commands that makes `target` depend on `files`, and an empty rule for each of
// these, so that make goes on when a file is gone that an earlier model needed. OPTION_INVALID for
// a name that make cannot read: with a line end, a backslash or a null.
absl::StatusOr<std::string> DependencyRule(absl::string_view target,
                                           const std::vector<std::string>& files);

}  // namespace quotient::cli
