#pragma once

// Errors of this folder, all of the form "where: what".

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"

namespace quotient::onnx {

inline absl::Status ErrorAt(Reason reason, absl::string_view where, absl::string_view what) {
  return MakeError(reason, absl::StrCat(where, ": ", what));
}

inline absl::Status Malformed(absl::string_view where, absl::string_view what) {
  return ErrorAt(Reason::kModelMalformed, where, what);
}

// The model does no harm, and still there is nothing that can be done for it.
inline absl::Status Unsupported(absl::string_view where, absl::string_view what) {
  return ErrorAt(Reason::kModelUnsupported, where, what);
}

}  // namespace quotient::onnx
