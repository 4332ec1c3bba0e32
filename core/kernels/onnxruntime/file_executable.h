#pragma once

// A model's file as ONNX Runtime runs it.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/kernels/onnxruntime/helper_client.h"

namespace quotient::kernels::onnxruntime {

// Borrows the client. If the process that has the model ends, SetInputs and Run load it anew.
absl::StatusOr<std::unique_ptr<Executable>> LoadFile(HelperClient* client, ModelFile file,
                                                     const FileValues& values);

}  // namespace quotient::kernels::onnxruntime
