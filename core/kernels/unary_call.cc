#include "core/kernels/unary_call.h"

#include <limits>
#include <variant>

#include "core/kernels/fusion.h"
#include "core/ops/op.h"

namespace quotient::kernels {
namespace {

using ops::UnaryFunction;

std::optional<UnaryCall> PowerOf(const model::AttributeMap& attributes) {
  const double exponent = attributes.GetFloat(kExponentAttribute, 0);
  if (exponent == 2) return UnaryCall{UnaryFunction::kSquare};
  if (exponent == 3) return UnaryCall{UnaryFunction::kCube};
  if (exponent == 0.5) return UnaryCall{UnaryFunction::kSqrt};
  return std::nullopt;
}

bool IsByTanh(const model::AttributeMap& attributes) {
  return attributes.GetString("approximate", "none") == "tanh";
}

}  // namespace

std::optional<UnaryCall> UnaryCallOf(absl::string_view op, const model::AttributeMap& attributes) {
  if (op == "Pow") return PowerOf(attributes);
  const ops::OpDef* row = ops::FindOp(op);
  if (row == nullptr || row->function == UnaryFunction::kNone) return std::nullopt;
  UnaryCall call{row->function};
  if (call.function == UnaryFunction::kGeluErf && IsByTanh(attributes)) {
    call.function = UnaryFunction::kGeluTanh;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double* number = &call.first;
  // Stands for an attribute that is left out and has no default. Only bounds have none, the lower
  // one first.
  double otherwise = -kInfinity;
  for (const ops::AttributeDef& attribute : row->attributes) {
    if (attribute.kind != ops::AttributeDef::Kind::kFloat) continue;
    if (attribute.default_value) otherwise = std::get<double>(*attribute.default_value);
    *number = attributes.GetFloat(attribute.name, otherwise);
    number = &call.second;
    otherwise = kInfinity;
  }
  return call;
}

}  // namespace quotient::kernels
