#include "core/domain/facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace quotient::domain {
namespace {

using Sign = Facts::Sign;

// Operators that are total and finite on finite inputs.
bool KeepsFinite(absl::string_view op) {
  static const auto* const kOps = new absl::flat_hash_set<absl::string_view>{"Add",
                                                                             "Sub",
                                                                             "Mul",
                                                                             "Neg",
                                                                             "Abs",
                                                                             "Relu",
                                                                             "LeakyRelu",
                                                                             "Sigmoid",
                                                                             "Tanh",
                                                                             "Erf",
                                                                             "Sin",
                                                                             "Cos",
                                                                             "Clip",
                                                                             "HardSigmoid",
                                                                             "HardSwish",
                                                                             "Gelu",
                                                                             "Max",
                                                                             "Min",
                                                                             "Where",
                                                                             "Floor",
                                                                             "Ceil",
                                                                             "Identity",
                                                                             "Dropout",
                                                                             "Transpose",
                                                                             "Reshape",
                                                                             "Flatten",
                                                                             "Squeeze",
                                                                             "Unsqueeze",
                                                                             "Concat",
                                                                             "Split",
                                                                             "Slice",
                                                                             "Gather",
                                                                             "GatherND",
                                                                             "GatherElements",
                                                                             "Expand",
                                                                             "Tile",
                                                                             "ScatterND",
                                                                             "MatMul",
                                                                             "Gemm",
                                                                             "Conv",
                                                                             "ConvTranspose",
                                                                             "ReduceMean",
                                                                             "ReduceSum",
                                                                             "ReduceMax",
                                                                             "GlobalAveragePool",
                                                                             "AveragePool",
                                                                             "Softmax",
                                                                             "CumSum",
                                                                             "Trilu",
                                                                             "Resize"};
  return kOps->contains(op);
}

// Operators whose outputs are elements of input 0, so its sign carries over.
bool SelectsElements(absl::string_view op) {
  static const auto* const kOps = new absl::flat_hash_set<absl::string_view>{
      "Identity",  "Dropout",           "Transpose",      "Reshape",    "Flatten",
      "Squeeze",   "Unsqueeze",         "Slice",          "Gather",     "Expand",
      "Tile",      "GatherND",          "GatherElements", "ReduceMean", "ReduceSum",
      "ReduceMax", "GlobalAveragePool", "AveragePool"};
  return kOps->contains(op);
}

std::optional<double> ScalarValue(const FactInput& input) {
  if (input.constant == nullptr || input.constant->elements() != 1) return std::nullopt;
  if (!model::IsComputable(input.constant->dtype())) return std::nullopt;
  return input.constant->GetDouble(0);
}

Sign Weaker(Sign a, Sign b) { return std::min(a, b); }

Sign SignOf(absl::string_view op, std::span<const FactInput> inputs, bool same_inputs) {
  const auto sign = [&](size_t i) {
    return i < inputs.size() && inputs[i].facts != nullptr ? inputs[i].facts->sign : Sign::kAny;
  };
  if (op == "Exp" || op == "Sigmoid") return Sign::kNonNegative;  // may underflow to zero
  if (op == "Relu" || op == "Abs" || op == "Softmax" || op == "HardSigmoid") {
    return Sign::kNonNegative;
  }
  if (op == "Sqrt" || op == "Reciprocal") return sign(0);
  if (op == "Add") {
    if (sign(0) == Sign::kAny || sign(1) == Sign::kAny) return Sign::kAny;
    return std::max(sign(0), sign(1));
  }
  if (op == "Mul") {
    if (same_inputs) return Sign::kNonNegative;
    // The product of two small positive numbers may underflow to zero.
    return std::min(Weaker(sign(0), sign(1)), Sign::kNonNegative);
  }
  if (op == "Div") return std::min(Weaker(sign(0), sign(1)), Sign::kNonNegative);
  if (op == "Pow" && inputs.size() == 2) {
    const std::optional<double> exponent = ScalarValue(inputs[1]);
    if (exponent && *exponent > 0 && std::fmod(*exponent, 2.0) == 0) return Sign::kNonNegative;
    return Sign::kAny;
  }
  if (op == "Max" && inputs.size() == 2) return std::max(sign(0), sign(1));
  if (op == "Where" && inputs.size() == 3) return Weaker(sign(1), sign(2));
  if (op == "Concat" && !inputs.empty()) {
    Sign all = sign(0);
    for (size_t i = 1; i < inputs.size(); ++i) all = Weaker(all, sign(i));
    return all;
  }
  return SelectsElements(op) ? sign(0) : Sign::kAny;
}

bool IsFiniteResult(absl::string_view op, std::span<const FactInput> inputs) {
  const auto finite = [&](size_t i) {
    return i < inputs.size() && inputs[i].facts != nullptr && inputs[i].facts->finite;
  };
  const auto facts = [&](size_t i) { return *inputs[i].facts; };
  bool all_finite = true;
  for (const FactInput& input : inputs) {
    if (input.facts != nullptr) all_finite &= input.facts->finite;
  }
  if (!all_finite) return false;
  if (KeepsFinite(op)) return true;
  if (op == "Sqrt") return finite(0) && facts(0).nonnegative();
  if (op == "Reciprocal") return finite(0) && facts(0).positive();
  if (op == "Log") return finite(0) && facts(0).positive();
  if (op == "Div") {
    if (!finite(0) || !finite(1)) return false;
    const std::optional<double> divisor = ScalarValue(inputs[1]);
    return facts(1).positive() || (divisor && *divisor != 0);
  }
  if (op == "Pow" && inputs.size() == 2) {
    const std::optional<double> exponent = ScalarValue(inputs[1]);
    return exponent && *exponent > 0 && std::floor(*exponent) == *exponent;
  }
  return false;
}

// A normalization divides by the root of a variance plus epsilon.
bool IsGuardedNormalization(absl::string_view op, const model::AttributeMap& attributes) {
  if (op != "LayerNormalization" && op != "InstanceNormalization") return false;
  return attributes.GetFloat("epsilon", 1e-5) > 0;
}

bool IsLastAxis(const model::AttributeMap& attributes, const model::TensorType& output) {
  if (!output.has_rank()) return false;
  const int64_t axis = attributes.GetInt("axis", -1);
  return axis == -1 || axis == output.rank() - 1;
}

}  // namespace

Facts Both(const Facts& a, const Facts& b) {
  return Facts{.finite = a.finite || b.finite,
               .softmax_safe = a.softmax_safe || b.softmax_safe,
               .sign = std::max(a.sign, b.sign)};
}

Facts FactsOfInput(const model::TensorType& type) {
  Facts facts;
  facts.finite = model::IsComputable(type.dtype);
  facts.softmax_safe = facts.finite;
  return facts;
}

Facts FactsOfConstant(const model::Tensor& tensor) {
  Facts facts;
  if (!model::IsFloat(tensor.dtype())) return FactsOfInput(tensor.type());
  const int64_t row = tensor.rank() == 0 ? 1 : tensor.dims().back();
  if (tensor.elements() == 0) return facts;
  // Signed infinity of either sign and the least element, per row and in all.
  bool safe = true;
  bool finite = true;
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> values(row);
  for (int64_t begin = 0; begin < tensor.elements(); begin += row) {
    tensor.Load(begin, std::span<double>(values));
    bool some_finite = false;
    for (const double value : values) {
      const bool is_finite = std::isfinite(value);
      some_finite |= is_finite;
      finite &= is_finite;
      safe &= is_finite || value < 0;
      least = std::min(least, value);
    }
    safe &= some_finite;
  }
  facts.finite = finite;
  facts.softmax_safe = safe;
  if (finite && least >= 0) facts.sign = least > 0 ? Sign::kPositive : Sign::kNonNegative;
  return facts;
}

Facts FactsOfOperator(const ops::OpDef& def, const model::AttributeMap& attributes,
                      std::span<const FactInput> inputs, const model::TensorType& output,
                      bool same_inputs) {
  Facts facts;
  if (!model::IsFloat(output.dtype)) return FactsOfInput(output);
  const absl::string_view op = def.name;
  facts.sign = SignOf(op, inputs, same_inputs);
  if (IsGuardedNormalization(op, attributes)) {
    facts.finite = std::all_of(inputs.begin(), inputs.end(), [](const FactInput& input) {
      return input.facts == nullptr || input.facts->finite;
    });
  } else if (op == "Cast" || op == "CastLike") {
    // From integers, and between the float types that reach equally far; others may overflow.
    const model::TensorType* from = inputs[0].type;
    const bool widens =
        from != nullptr && (!model::IsFloat(from->dtype) || output.dtype != model::DType::kFloat16);
    facts.finite = widens && output.dtype != model::DType::kFloat16 && inputs[0].facts != nullptr &&
                   inputs[0].facts->finite;
  } else {
    facts.finite = IsFiniteResult(op, inputs);
  }
  facts.softmax_safe = facts.finite;
  // A finite summand keeps every row of the other's as safe as it was. Dropping or copying whole
  // rows does, too, but masks are seldom written so.
  if (op == "Add" && inputs.size() == 2 && inputs[0].facts != nullptr &&
      inputs[1].facts != nullptr) {
    facts.softmax_safe |= (inputs[0].facts->finite && inputs[1].facts->softmax_safe) ||
                          (inputs[1].facts->finite && inputs[0].facts->softmax_safe);
  }
  if (op == "Softmax" && inputs[0].facts != nullptr && inputs[0].facts->softmax_safe &&
      IsLastAxis(attributes, output)) {
    facts.finite = facts.softmax_safe = true;
  }
  return facts;
}

}  // namespace quotient::domain
