#pragma once

// How targets say that a promise is broken: they name what came instead, and die.

#include <cstdlib>
#include <iostream>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace quotient::testing {

inline void Check(bool condition, absl::string_view promise,
                  const absl::Status& status = absl::OkStatus()) {
  if (condition) return;
  std::cerr << "not so: " << promise << "\n" << status << "\n";
  std::abort();
}

}  // namespace quotient::testing
