#pragma once

// `quotient-rules soak`: a mass run of all rules, and its record.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quotient::prove {

struct SoakCommand {
  std::vector<std::string> rules;  // SoakOptions::rules
  int64_t graphs = 1000;
  int64_t firings = 10;
  uint64_t seed = 0;
  std::string onnxruntime;  // The library that a tenth of the graphs is run by; empty: none is.
  std::string record;       // A file for the counts; empty: none.
};

// False if something differs, or if a rule has changed fewer graphs than it should.
absl::StatusOr<bool> RunSoak(const SoakCommand& command);

}  // namespace quotient::prove
