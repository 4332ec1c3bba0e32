#pragma once

// `quotient-rules generate`: looks for rules, and prints them as rule text with a table of counts.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quotient::prove {

struct GenerateOptions {
  std::vector<std::string> operators = {"ours"};  // Names of universes, or groups of them.
  int size = 3;
  int instances = 10;
  uint64_t seed = 0;
  std::vector<std::string> without;  // Present rules that are taken to be unknown.
  std::string device;                // Whose prices count; empty: those of generate::Options.
};

// INVALID_ARGUMENT if an operator set, a rule or a device is not known.
absl::StatusOr<bool> RunGenerate(const GenerateOptions& options);

}  // namespace quotient::prove
