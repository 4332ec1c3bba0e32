#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/ops/op.h"
#include "core/prove/arithmetic.h"

namespace quotient::prove {
namespace {

using model::DType;
using model::Tensor;
using FloatOperands = std::vector<FloatArithmetic::Operand>;

// These compute in float32 by definition, whatever the type of their operands.
constexpr std::array<absl::string_view, 3> kInFloat32 = {"DequantizeLinear", "QuantizeLinear",
                                                         "Resize"};

bool IsSixteenBits(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

// The largest relative error of one rounding.
double RoundingOf(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16:
      return 0x1p-8;
    case DType::kFloat16:
      return 0x1p-11;
    case DType::kFloat32:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

bool Rounds(DType from, DType to) {
  return from != to && (RoundingOf(to) > RoundingOf(from) || to == DType::kFloat16);
}

Tensor OfType(DType dtype, const Tensor& value) {
  if (value.dtype() == dtype) return value;
  std::span<std::byte> buffer;
  const Tensor converted = Tensor::Allocate(dtype, value.dims(), &buffer);
  const std::vector<double> elements = value.AsDoubles();
  model::Store(dtype, buffer, 0, std::span<const double>(elements));
  return converted;
}

Tensor InDouble(const Tensor& value) {
  return model::IsFloat(value.dtype()) ? OfType(DType::kFloat64, value) : value;
}

bool IsFloatCast(const model::Graph& graph, const model::Node& node) {
  if (node.op != "Cast" && node.op != "CastLike") return false;
  const DType from = graph.value(node.inputs[0]).type.dtype;
  const DType to = graph.value(node.outputs[0]).type.dtype;
  return from != to && model::IsFloat(from) && model::IsFloat(to) &&
         (IsSixteenBits(from) || IsSixteenBits(to));
}

// The float type that a word casts its float operand to.
std::optional<DType> TargetOfCast(const domain::OpWord& word, const FloatOperands& operands) {
  if (word.name != "Cast" || !model::IsFloat(operands[0].value->dtype())) return std::nullopt;
  const auto to = model::DTypeFromOnnx(static_cast<int32_t>(word.attributes.GetInt("to", 0)));
  return to && model::IsFloat(*to) ? to : std::nullopt;
}

absl::StatusOr<Tensor> EvaluateWord(const domain::OpWord& word, std::vector<const Tensor*> inputs) {
  model::Node call;
  call.op = word.name;
  call.attributes = word.attributes;
  call.outputs = {model::ValueId(0)};
  for (size_t i = 0; i < inputs.size(); ++i) {
    call.inputs.push_back(inputs[i] == nullptr ? model::ValueId()
                                               : model::ValueId(static_cast<uint32_t>(i + 1)));
  }
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, ops::EvaluateNode(call, inputs, 1));
  return outputs[0];
}

absl::StatusOr<Tensor> EvaluateAsGiven(const domain::OpWord& word, const FloatOperands& operands) {
  std::vector<const Tensor*> inputs;
  for (const FloatArithmetic::Operand& each : operands) inputs.push_back(each.value);
  return EvaluateWord(word, std::move(inputs));
}

absl::StatusOr<Tensor> EvaluateAsDeclared(const domain::OpWord& word,
                                          const FloatOperands& operands) {
  std::vector<std::optional<Tensor>> rounded(operands.size());
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].value != nullptr && model::IsFloat(operands[i].dtype)) {
      rounded[i] = OfType(operands[i].dtype, *operands[i].value);
    }
    inputs.push_back(rounded[i] ? &*rounded[i] : operands[i].value);
  }
  return EvaluateWord(word, std::move(inputs));
}

// In the types that the model declares, where all operators round.
double ErrorOfLargest(const Tensor& a, const Tensor& b) {
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

double ToleranceOfLargest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBfloat16:
      return 3e-2;
    case DType::kFloat32:
      return 1e-4;
    case DType::kFloat64:
      return 1e-9;
    default:
      return 0;
  }
}

}  // namespace

FloatArithmetic::FloatArithmetic(const model::Graph& bound, Point point)
    : point_(std::move(point)),
      in_declared_types_(std::ranges::any_of(
          bound.nodes, [&](const model::Node& node) { return IsFloatCast(bound, node); })) {
  // Larger numbers are infinite in 16 bits.
  if (in_declared_types_ && point_.range == Point::Range::kLarge) {
    point_.range = Point::Range::kMiddle;
  }
}

absl::StatusOr<Tensor> FloatArithmetic::OfConstant(const model::Tensor& tensor) const {
  return in_declared_types_ ? tensor : InDouble(tensor);
}

Tensor FloatArithmetic::OfInput(const model::TensorType& type, Rng& rng) const {
  const bool is_float = model::IsFloat(type.dtype);
  const DType dtype = is_float && !in_declared_types_ ? DType::kFloat64 : type.dtype;
  std::span<std::byte> buffer;
  const Tensor value = Tensor::Allocate(dtype, type.dims(), &buffer);
  std::vector<double> elements(static_cast<size_t>(value.elements()));
  if (is_float) {
    elements = DrawFloats(point_, value.elements(), rng);
  } else {
    const uint64_t bound = type.dtype == DType::kBool ? 2 : 3;
    for (double& each : elements) each = static_cast<double>(rng.Below(bound));
  }
  model::Store(dtype, buffer, 0, std::span<const double>(elements));
  return value;
}

absl::StatusOr<Tensor> FloatArithmetic::OfOperator(const domain::OpWord& word,
                                                   const FloatOperands& operands,
                                                   Agreement& agreement) const {
  if (in_declared_types_) {
    agreement.rounding.insert("all, because of casts of 16-bit floats");
    return EvaluateAsGiven(word, operands);
  }
  if (const std::optional<DType> target = TargetOfCast(word, operands)) {
    if (!Rounds(operands[0].dtype, *target)) return *operands[0].value;
    agreement.rounding.insert(absl::StrCat("Cast to ", model::DTypeName(*target)));
    return InDouble(OfType(*target, *operands[0].value));
  }
  absl::StatusOr<Tensor> value = EvaluateAsGiven(word, operands);
  const bool is_refused = !value.ok();
  if (is_refused) value = EvaluateAsDeclared(word, operands);
  QUOTIENT_RETURN_IF_ERROR(value.status());
  if (is_refused || std::ranges::find(kInFloat32, word.name) != kInFloat32.end()) {
    agreement.rounding.insert(word.name);
  }
  return InDouble(*value);
}

double FloatArithmetic::Error(const Tensor& a, const Tensor& b,
                              const Sensitivity& sensitivity) const {
  return in_declared_types_ ? ErrorOfLargest(a, b) : ConditionedError(a, b, sensitivity);
}

double FloatArithmetic::Tolerance(DType declared) const {
  if (in_declared_types_ || declared == DType::kFloat64) return ToleranceOfLargest(declared);
  constexpr double kRoundings = 4;
  return model::IsFloat(declared) ? kRoundings * RoundingOf(declared) : 0;
}

bool FloatArithmetic::SaysSomething(const Tensor& value, const Sensitivity& sensitivity) {
  const std::vector<double> elements = value.AsDoubles();
  for (size_t i = 0; i < elements.size(); ++i) {
    const bool jumps = sensitivity.size() == elements.size() && std::isinf(sensitivity[i]);
    if (!std::isnan(elements[i]) && !jumps) return true;
  }
  return false;
}

}  // namespace quotient::prove
