#pragma once

// External data: tensors whose bytes are in files beside the model. This folder never opens such a
// file. The owner of a model asks here which files it needs, and passes their bytes to the reader.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/onnx/limits.h"

namespace quotient::onnx {

// Returns the locations that tensors of the model name, those in subgraphs and functions included:
// exactly as written there, each once, initializers first. All are relative and stay in the model's
// folder. Fails with MODEL_MALFORMED, LIMIT_* or EXTERNAL_DATA_PATH.
absl::StatusOr<std::vector<std::string>> ExternalLocations(absl::string_view model_bytes,
                                                           const Limits& limits = {});

// Fails with EXTERNAL_DATA_PATH for a location that is empty, absolute or leaves the model's
// folder, by the rules of any operating system.
absl::Status CheckExternalLocation(absl::string_view location, absl::string_view where,
                                   const Limits& limits);

}  // namespace quotient::onnx
