#include <algorithm>
#include <cmath>
#include <span>

#include "core/base/status_macros.h"
#include "core/ops/op.h"
#include "core/prove/arithmetic.h"

namespace quotient::prove {
namespace {

// Beyond the bounds of Clip(0, 6) and HardSigmoid.
constexpr double kLarge = 8;

}  // namespace

model::Tensor FloatArithmetic::OfInput(const model::TensorType& type, Rng& rng) {
  std::span<std::byte> buffer;
  const Value value = Value::Allocate(type.dtype, type.dims(), &buffer);
  std::vector<double> elements(value.elements());
  // Where numbers are small, many functions have not met their bounds. There are few of them far
  // below zero, where functions that vanish there are all rounding.
  const double most = rng.Below(2) == 0 ? 1 : kLarge;
  for (double& each : elements) {
    each = model::IsFloat(type.dtype)
               ? rng.Uniform(-1, most)
               : static_cast<double>(rng.Below(type.dtype == model::DType::kBool ? 2 : 3));
  }
  model::Store(type.dtype, buffer, 0, std::span<const double>(elements));
  return value;
}

absl::StatusOr<model::Tensor> FloatArithmetic::OfOperator(const domain::OpWord& word,
                                                          const std::vector<Operand>& operands,
                                                          Agreement&) {
  model::Node call;
  call.op = word.name;
  call.attributes = word.attributes;
  call.outputs = {model::ValueId(0)};
  std::vector<const Value*> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    inputs.push_back(operands[i].value);
    call.inputs.push_back(inputs[i] == nullptr ? model::ValueId()
                                               : model::ValueId(static_cast<uint32_t>(i + 1)));
  }
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Value> outputs, ops::EvaluateNode(call, inputs, 1));
  return outputs[0];
}

double FloatArithmetic::Error(const Value& a, const Value& b) {
  if (a.dims() != b.dims()) return INFINITY;
  double scale = 0;
  double difference = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.GetDouble(i);
    const double y = b.GetDouble(i);
    if (std::isnan(x) != std::isnan(y)) return INFINITY;
    if (std::isnan(x)) continue;
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
    if (x == y) continue;
    difference = std::max(difference, std::abs(x - y));
  }
  return difference == 0 ? 0 : difference / std::max(scale, 1e-30);
}

bool FloatArithmetic::SaysSomething(const Value& value) {
  for (int64_t i = 0; i < value.elements(); ++i) {
    if (!std::isnan(value.GetDouble(i))) return true;
  }
  return false;
}

double FloatArithmetic::Tolerance(const Value& value) {
  switch (value.dtype()) {
    case model::DType::kFloat16:
    case model::DType::kBfloat16:
      return 3e-2;
    case model::DType::kFloat32:
      return 1e-4;
    case model::DType::kFloat64:
      return 1e-9;
    default:
      return 0;
  }
}

}  // namespace quotient::prove
