#include "tests/support/networks/float_type.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/float16.h"

namespace quotient::networks {
namespace {

using ::onnx::TensorProto;

std::vector<float> FloatsOf(const TensorProto& tensor) {
  if (!tensor.has_raw_data()) return {tensor.float_data().begin(), tensor.float_data().end()};
  std::vector<float> floats(tensor.raw_data().size() / sizeof(float));
  std::memcpy(floats.data(), tensor.raw_data().data(), floats.size() * sizeof(float));
  return floats;
}

void Convert(TensorProto::DataType type, TensorProto& tensor) {
  std::vector<uint16_t> narrow;
  for (const float value : FloatsOf(tensor)) {
    narrow.push_back(type == TensorProto::FLOAT16 ? FloatToFloat16(value) : FloatToBfloat16(value));
  }
  tensor.clear_float_data();
  tensor.set_data_type(type);
  tensor.set_raw_data(narrow.data(), narrow.size() * sizeof(uint16_t));
}

}  // namespace

std::optional<TensorProto::DataType> FloatTypeOf(const std::string& name) {
  if (name == "float32") return TensorProto::FLOAT;
  if (name == "float16") return TensorProto::FLOAT16;
  if (name == "bfloat16") return TensorProto::BFLOAT16;
  return std::nullopt;
}

void ConvertFloats(TensorProto::DataType type, ::onnx::ModelProto* model) {
  if (type == TensorProto::FLOAT) return;
  ::onnx::GraphProto& graph = *model->mutable_graph();
  for (TensorProto& tensor : *graph.mutable_initializer()) {
    if (tensor.data_type() == TensorProto::FLOAT) Convert(type, tensor);
  }
  for (auto* values : {graph.mutable_input(), graph.mutable_output()}) {
    for (::onnx::ValueInfoProto& value : *values) {
      auto& tensor = *value.mutable_type()->mutable_tensor_type();
      if (tensor.elem_type() == TensorProto::FLOAT) tensor.set_elem_type(type);
    }
  }
}

}  // namespace quotient::networks
