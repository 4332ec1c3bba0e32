#pragma once

// `quotient-rules check`: certifies rules, our own or those of a user's file, and prints their
// certificates.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quotient::prove {

struct CheckOptions {
  std::vector<std::string> rules;  // Names; empty: all.
  std::string file;                // Whose rules are checked; empty: our own.
  int instances = 20;
  uint64_t seed = 0;
  std::string record;  // A file for the certificates; empty: none.
};

// False if a rule is refuted, does not apply or could not be certified. Fails if a file cannot be
// read or written, if it has no rules (ParseRuleFile), or if a rule has no such name.
absl::StatusOr<bool> RunCheck(const CheckOptions& options);

}  // namespace quotient::prove
