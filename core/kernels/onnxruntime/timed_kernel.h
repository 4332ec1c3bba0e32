#pragma once

// One kernel as ONNX Runtime runs it, for the timing lane.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/kernels/kernel_spec.h"
#include "core/kernels/onnxruntime/helper_client.h"

namespace quotient::kernels::onnxruntime {

// Borrows the client. UNIMPLEMENTED if ONNX Runtime has no such kernel.
absl::StatusOr<std::unique_ptr<CompiledKernel>> LoadKernel(HelperClient* client,
                                                           const KernelSpec& spec);

}  // namespace quotient::kernels::onnxruntime
