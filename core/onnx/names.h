#pragma once

// Names that come with a model, and new ones beside them.

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/onnx/limits.h"

namespace quotient::onnx {

// Names travel into reports, logs and the result: at most max_name_bytes of UTF-8 without NUL.
// MODEL_UNSUPPORTED: runtimes take any bytes for a name. `what` says what the name is of.
absl::Status CheckName(absl::string_view name, absl::string_view what, const Limits& limits);

// Hands out names that nothing has yet, always the same ones for the same history.
class NamePool {
 public:
  // False if the name is taken already.
  bool Take(absl::string_view name) { return taken_.insert(std::string(name)).second; }
  bool IsTaken(absl::string_view name) const { return taken_.contains(name); }

  // `wanted`, or `wanted_1`, `wanted_2`, ...; taken from then on.
  std::string Fresh(absl::string_view wanted);

 private:
  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_map<std::string, int64_t> next_;  // first number not tried yet, by wanted name
};

}  // namespace quotient::onnx
