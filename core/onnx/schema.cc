#include "core/onnx/schema.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <string>
#include <vector>

namespace quotient::onnx {
namespace {

using model::DType;
using ::onnx::OpSchema;
using ::onnx::OpSchemaRegistry;

const OpSchema* FindRow(absl::string_view op, int opset) {
  return OpSchemaRegistry::Schema(std::string(op), opset, "");
}

// The name of a tensor type in schemas.
absl::string_view TypeText(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "tensor(float)";
    case DType::kFloat64:
      return "tensor(double)";
    case DType::kFloat16:
      return "tensor(float16)";
    case DType::kBfloat16:
      return "tensor(bfloat16)";
    case DType::kInt8:
      return "tensor(int8)";
    case DType::kInt16:
      return "tensor(int16)";
    case DType::kInt32:
      return "tensor(int32)";
    case DType::kInt64:
      return "tensor(int64)";
    case DType::kUint8:
      return "tensor(uint8)";
    case DType::kUint16:
      return "tensor(uint16)";
    case DType::kUint32:
      return "tensor(uint32)";
    case DType::kUint64:
      return "tensor(uint64)";
    case DType::kBool:
      return "tensor(bool)";
    default:
      return "";  // Only opaque nodes have other types.
  }
}

const OpSchema::FormalParameter* Formal(const std::vector<OpSchema::FormalParameter>& formals,
                                        int index) {
  if (index < static_cast<int>(formals.size())) return &formals[index];
  if (formals.empty() || formals.back().GetOption() != OpSchema::Variadic) return nullptr;
  return &formals.back();
}

}  // namespace

int NewestOpset() { return OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second; }

int NewestIrVersion() { return ::onnx::Version::IR_VERSION; }

const OpSchema* FindSchema(absl::string_view op, int opset) {
  const OpSchema* schema = FindRow(op, opset);
  return schema == nullptr || schema->Deprecated() ? nullptr : schema;
}

bool IsDeprecated(absl::string_view op, int opset) {
  const OpSchema* schema = FindRow(op, opset);
  return schema != nullptr && schema->Deprecated();
}

int SinceOpset(absl::string_view op, int opset) {
  const OpSchema* const schema = FindSchema(op, opset);
  if (schema == nullptr || opset < kBroadcastingOpset) return opset;
  return std::max(schema->since_version(), kBroadcastingOpset);
}

bool SameMeaning(absl::string_view op, int opset_a, int opset_b) {
  return FindRow(op, opset_a) == FindRow(op, opset_b);
}

std::span<const OnlyWidened> OnlyWidenedOperators() {
  static constexpr OnlyWidened kOperators[] = {
      {"Abs", 6},      {"Add", 7},       {"And", 7},   {"Cast", 9},    {"Concat", 4},
      {"Constant", 1}, {"Div", 7},       {"Equal", 7}, {"Exp", 6},     {"Expand", 8},
      {"Flatten", 11}, {"Gather", 11},   {"Gemm", 11}, {"Greater", 7}, {"Identity", 1},
      {"If", 11},      {"Less", 7},      {"Log", 6},   {"Loop", 11},   {"MatMul", 1},
      {"Max", 8},      {"Min", 8},       {"Mul", 7},   {"Neg", 6},     {"NonZero", 9},
      {"Relu", 6},     {"Reshape", 5},   {"Scan", 9},  {"Shape", 1},   {"Sigmoid", 6},
      {"Size", 1},     {"Slice", 11},    {"Sqrt", 6},  {"Sub", 7},     {"Tanh", 6},
      {"Tile", 6},     {"Transpose", 1}, {"Where", 9},
  };
  return kOperators;
}

bool KeepsMeaning(absl::string_view op, int opset, int later) {
  if (SameMeaning(op, opset, later)) return true;
  const std::span<const OnlyWidened> widened = OnlyWidenedOperators();
  const auto found = std::ranges::find(widened, op, &OnlyWidened::op);
  return found != widened.end() && opset >= found->since && later >= opset;
}

bool TakesType(const OpSchema::FormalParameter& parameter, DType dtype) {
  if (dtype == DType::kUndefined) return true;
  const absl::string_view text = TypeText(dtype);
  for (const ::onnx::DataType type : parameter.GetTypes()) {
    if (absl::string_view(*type) == text) return true;
  }
  return false;
}

const OpSchema::FormalParameter* FormalInput(const OpSchema& schema, int index) {
  return Formal(schema.inputs(), index);
}

const OpSchema::FormalParameter* FormalOutput(const OpSchema& schema, int index) {
  return Formal(schema.outputs(), index);
}

}  // namespace quotient::onnx
