#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

namespace quotient::networks {

// "float32", "float16" or "bfloat16".
std::optional<::onnx::TensorProto::DataType> FloatTypeOf(const std::string& name);

// Makes all float32 initializers, inputs and outputs of a model ones of that type, as frameworks
// export models that were trained or converted so.
void ConvertFloats(::onnx::TensorProto::DataType type, ::onnx::ModelProto* model);

}  // namespace quotient::networks
