#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

namespace quotient::networks {

// The ONNX type called "float32", "float16" or "bfloat16"; nullopt for other names.
std::optional<::onnx::TensorProto::DataType> FloatTypeOf(const std::string& name);

// Converts all float32 initializers, inputs and outputs of a model to this type. The result is like
// a framework's export of a model that was trained in or converted to the type.
void ConvertFloats(::onnx::TensorProto::DataType type, ::onnx::ModelProto* model);

}  // namespace quotient::networks
