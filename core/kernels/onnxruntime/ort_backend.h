#pragma once

// The backend of ONNX Runtime on this machine's processors. Whole models are run by it, as files.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/backend.h"
#include "core/os/environment.h"

namespace quotient::kernels::onnxruntime {

// The environment variable by which users name the file of ONNX Runtime's library.
inline constexpr char kLibraryVariable[] = "QUOTIENT_ONNXRUNTIME";

// The devices: the processors, and a GPU by ONNX Runtime's CUDA provider.
inline constexpr char kCpuDevice[] = "onnxruntime";
inline constexpr char kCudaDevice[] = "onnxruntime:cuda";

// `device` is one of the two above. The helper program and the library are looked for beside the
// program; `environment` may name the library. DEVICE_NOT_PRESENT if either is missing, or is of no
// use; the message says why. The second device is always refused: for lack of the provider, or
// because nothing here runs models by it yet. `takes_precedence` is
// HelperOptions::takes_precedence.
absl::StatusOr<std::unique_ptr<Backend>> NewBackend(absl::string_view device, int threads,
                                                    const os::Environment& environment,
                                                    bool takes_precedence = false);

}  // namespace quotient::kernels::onnxruntime
