#pragma once

// What an output of a session is like, as far as the time of a kernel that reads it depends on it.

#include "core/kernels/onnxruntime/helper.pb.h"
#include "core/kernels/onnxruntime/runtime.h"

namespace quotient::kernels::onnxruntime {

// `tensor` is one of numbers.
ort::v1::Kept::Output Summarize(const TensorView& tensor);

}  // namespace quotient::kernels::onnxruntime
