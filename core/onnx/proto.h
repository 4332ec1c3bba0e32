#pragma once

// ONNX's messages under our namespace. Included by sources of this folder alone: the generated
// header is slow to compile, and nothing outside should depend on it.

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
