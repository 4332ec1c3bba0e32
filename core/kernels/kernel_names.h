#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels {

// What people call the operators of a kernel: the main one, then those fused behind it, with
// `separator` between them. Operators of a runtime's own domain are told from ONNX's by the
// domain's last word: "Conv (nchwc)".
std::string OperatorNames(const KernelSpec& spec, absl::string_view separator);

}  // namespace quotient::kernels
