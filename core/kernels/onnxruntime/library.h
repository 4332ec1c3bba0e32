#pragma once

// Loads ONNX Runtime's library at run time.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/kernels/onnxruntime/c_api.h"

namespace quotient::kernels::onnxruntime {

struct Library {
  std::string version;  // Such as "1.31.1".
  // The beginning of the SHA-256 of the library's file. Two builds of one version differ in it.
  std::string build;
  // The execution providers that it was built with, such as "CPUExecutionProvider".
  std::vector<std::string> providers;
  OrtApi api;
};

// Loads the library from a path, or by a name that the dynamic linker knows; it stays loaded. Fails
// with NOT_FOUND if it is not there, FAILED_PRECONDITION if its version is too old, and
// INVALID_ARGUMENT if it is something else: no library, or one for another machine, or one without
// this API.
absl::StatusOr<Library> LoadLibrary(const std::string& path);

}  // namespace quotient::kernels::onnxruntime
