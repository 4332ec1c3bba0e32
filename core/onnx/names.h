#pragma once

// Checks the names in a model, and makes new names.

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/onnx/limits.h"

namespace quotient::onnx {

// Names appear in reports, logs and the result, so they must be UTF-8 without NUL and have at most
// max_name_bytes. Other names are MODEL_UNSUPPORTED rather than malformed, because runtimes accept
// any bytes. `what` says in the message what has this name.
absl::Status CheckName(absl::string_view name, absl::string_view what, const Limits& limits);

// Makes unused names. Deterministic: the same sequence of calls gives the same names.
class NamePool {
 public:
  // Marks a name as taken. Returns false if it was taken already.
  bool Take(absl::string_view name) { return taken_.insert(std::string(name)).second; }
  bool IsTaken(absl::string_view name) const { return taken_.contains(name); }

  // Takes and returns the first free name among `wanted`, `wanted_1`, `wanted_2`, ...
  std::string Fresh(absl::string_view wanted);

 private:
  absl::flat_hash_set<std::string> taken_;
  // By wanted name, the first number not tried yet.
  absl::flat_hash_map<std::string, int64_t> next_;
};

}  // namespace quotient::onnx
