#pragma once

// Imports ONNX's protobuf messages into our namespace. Only files of this folder include it,
// because the generated header is slow to compile and nothing else should depend on it.

#include <onnx/onnx_pb.h>

namespace quotient::onnx {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::SparseTensorProto;
using ::onnx::StringStringEntryProto;
using ::onnx::TensorProto;
using ::onnx::TypeProto;
using ::onnx::ValueInfoProto;

}  // namespace quotient::onnx
