#pragma once

// External data: tensors whose bytes lie in files beside the model. Quotient never opens such a
// file by itself: whoever has the model asks here which ones it needs and hands their bytes in.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/onnx/limits.h"

namespace quotient::onnx {

// The locations that tensors of the model name, exactly as written there, each once, in order of
// appearance; subgraphs and functions included. All are relative and stay in the model's folder.
// MODEL_MALFORMED, LIMIT_*, EXTERNAL_DATA_PATH.
absl::StatusOr<std::vector<std::string>> ExternalLocations(absl::string_view model_bytes,
                                                           const Limits& limits = {});

// EXTERNAL_DATA_PATH for a location that is empty, absolute or climbs out of the model's folder,
// by the rules of any operating system.
absl::Status CheckExternalLocation(absl::string_view location, absl::string_view where,
                                   const Limits& limits);

}  // namespace quotient::onnx
