#pragma once

// Makes the errors of this folder, whose messages all have the form "where: what".

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

// For models that are harmless, but cannot be worked on.
inline absl::Status Unsupported(absl::string_view where, absl::string_view what) {
  return ErrorAt(Reason::kModelUnsupported, where, what);
}

}  // namespace quotient::onnx
