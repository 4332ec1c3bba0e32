#pragma once

// One kernel as ONNX Runtime runs it, for the timing lane.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/kernels/kernel_spec.h"
#include "core/kernels/onnxruntime/helper_client.h"
#include "core/kernels/onnxruntime/traced_file.h"

namespace quotient::kernels::onnxruntime {

// Borrows the client. A node (IsNodeSpec) reads the operands that `operands` has for it, or random
// ones. UNIMPLEMENTED if ONNX Runtime has no such kernel.
absl::StatusOr<std::unique_ptr<CompiledKernel>> LoadKernel(HelperClient* client,
                                                           const OperandBook& operands,
                                                           const KernelSpec& spec);

}  // namespace quotient::kernels::onnxruntime
