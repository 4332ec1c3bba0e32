// Element-wise operators of one tensor.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "core/base/status_macros.h"
#include "core/ops/certain.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::AttributeMap;
using model::DType;
using model::Tensor;
using model::TensorType;

using Fn = UnaryFunction;
using Outputs = absl::StatusOr<std::vector<Tensor>>;

// --- Inference ---

// The type of input 0, which is all that can be said for most operators.
template <Domain domain>
absl::StatusOr<InferResult> InferSame(const InferContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(domain, DTypeAt(context, 0)));
  return OneOutput(*context.inputs[0].type);
}

// The shape of input 0 with bool elements.
template <Domain domain>
absl::StatusOr<InferResult> InferPredicate(const InferContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(domain, DTypeAt(context, 0)));
  TensorType type = *context.inputs[0].type;
  type.dtype = DType::kBool;
  return OneOutput(std::move(type));
}

absl::StatusOr<InferResult> InferWithElements(const InferContext& context, Domain domain,
                                              Element (*map)(const Element&)) {
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(domain, DTypeAt(context, 0)));
  InferResult result = OneOutput(*context.inputs[0].type);
  if (const Elements* elements = ElementsAt(context, 0); elements != nullptr) {
    result.elements.emplace();
    for (const Element& element : *elements) result.elements->push_back(map(element));
  }
  return result;
}

absl::StatusOr<InferResult> InferNeg(const InferContext& context) {
  return InferWithElements(context, Domain::kNumeric, [](const Element& element) {
    return element.is_number() ? SubElements(0, element) : Element();
  });
}

absl::StatusOr<InferResult> InferNot(const InferContext& context) {
  return InferWithElements(context, Domain::kBool, [](const Element& element) {
    return element.is_number() ? Element(element.number() == 0) : Element();
  });
}

absl::StatusOr<InferResult> InferClip(const InferContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CommonDType(context, 0, context.inputs.size()).status());
  return InferSame<Domain::kNumeric>(context);
}

// --- Evaluation ---

// `f` is a stateless lambda from double to double.
template <auto f>
Outputs EvaluateFloat(const EvaluateContext& context) {
  return MapElements<1, double>(context, f);
}

// F is constructed from the attributes.
template <typename F>
Outputs EvaluateFloatWith(const EvaluateContext& context) {
  return MapElements<1, double>(context, F(context.attributes));
}

// `f` accepts floats and integers.
template <auto f>
Outputs EvaluateNumbers(const EvaluateContext& context) {
  return MapNumbers<1>(context, f);
}

Outputs EvaluateNot(const EvaluateContext& context) {
  return MapElements<1, int64_t>(context, [](int64_t x) { return x == 0; });
}

constexpr auto kNeg = []<typename T>(T x) {
  if constexpr (std::is_integral_v<T>) return WrapSub<T>(0, x);
  return static_cast<T>(-x);
};
constexpr auto kAbs = []<typename T>(T x) {
  if constexpr (std::is_same_v<T, double>) return std::fabs(x);
  return x < 0 ? WrapSub<T>(0, x) : x;
};
constexpr auto kRelu = []<typename T>(T x) { return x < 0 ? T{0} : x; };
constexpr auto kSign = []<typename T>(T x) {
  return x != x ? x : static_cast<T>((x > 0) - (x < 0));
};

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }
// log(1 + e^x) without overflow.
double LogOnePlusExp(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
double Unit(double x) { return MaxOf(0.0, MinOf(1.0, x)); }

struct LeakyRelu {
  explicit LeakyRelu(const AttributeMap& a) : alpha(a.GetFloat("alpha", 0.01f)) {}
  double operator()(double x) const { return x < 0 ? alpha * x : x; }
  double alpha;
};

struct Elu {
  explicit Elu(const AttributeMap& a) : alpha(a.GetFloat("alpha", 1)) {}
  double operator()(double x) const { return x < 0 ? alpha * std::expm1(x) : x; }
  double alpha;
};

struct Celu {
  explicit Celu(const AttributeMap& a) : alpha(a.GetFloat("alpha", 1)) {}
  double operator()(double x) const {
    return MaxOf(0.0, x) + MinOf(0.0, alpha * std::expm1(x / alpha));
  }
  double alpha;
};

struct Selu {
  explicit Selu(const AttributeMap& a)
      : alpha(a.GetFloat("alpha", 1.67326319217681884765625f)),
        gamma(a.GetFloat("gamma", 1.05070102214813232421875f)) {}
  double operator()(double x) const { return gamma * (x > 0 ? x : alpha * std::expm1(x)); }
  double alpha, gamma;
};

struct HardSigmoid {
  explicit HardSigmoid(const AttributeMap& a)
      : alpha(a.GetFloat("alpha", 0.2f)), beta(a.GetFloat("beta", 0.5)) {}
  double operator()(double x) const { return Unit(alpha * x + beta); }
  double alpha, beta;
};

struct ThresholdedRelu {
  explicit ThresholdedRelu(const AttributeMap& a) : alpha(a.GetFloat("alpha", 1)) {}
  double operator()(double x) const { return x > alpha ? x : 0; }
  double alpha;
};

struct Swish {
  explicit Swish(const AttributeMap& a) : alpha(a.GetFloat("alpha", 1)) {}
  double operator()(double x) const { return x * Logistic(alpha * x); }
  double alpha;
};

struct IsInf {
  explicit IsInf(const AttributeMap& a)
      : negative(a.GetInt("detect_negative", 1) != 0),
        positive(a.GetInt("detect_positive", 1) != 0) {}
  double operator()(double x) const { return std::isinf(x) && (x < 0 ? negative : positive); }
  bool negative, positive;
};

struct Gelu {
  explicit Gelu(const AttributeMap& a) : tanh(a.GetString("approximate", "none") == "tanh") {}
  double operator()(double x) const {
    if (!tanh) return 0.5 * x * std::erfc(-x * (std::numbers::sqrt2 / 2));
    static const double scale = std::sqrt(2 / std::numbers::pi);
    return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
  }
  bool tanh;
};

bool AcceptsGelu(const model::Node& node) {
  const std::string approximate = node.attributes.GetString("approximate", "none");
  return approximate == "none" || approximate == "tanh";
}

// A bound of Clip as a T, from the attribute, or from the input if no attribute can represent it.
// Integer bounds saturate, because a bound can be 2^63 as a float.
template <typename T>
T Bound(const EvaluateContext& context, absl::string_view name, size_t input, T otherwise) {
  if constexpr (std::is_integral_v<T>) {
    if (input < context.inputs.size() && context.inputs[input] != nullptr) {
      return static_cast<T>(context.inputs[input]->GetInt(0));
    }
  }
  if (!context.attributes.Has(name)) return otherwise;
  const double value = context.attributes.GetFloat(name, 0);
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (value <= static_cast<double>(Limits::min())) return Limits::min();
    if (value >= static_cast<double>(Limits::max())) return Limits::max();
  }
  return static_cast<T>(value);
}

template <typename T>
Outputs ClipAs(const EvaluateContext& context) {
  const bool is_float = std::is_same_v<T, double>;
  using Limits = std::numeric_limits<T>;
  const T low = Bound<T>(context, "min", 1, is_float ? -Limits::infinity() : Limits::min());
  const T high = Bound<T>(context, "max", 2, is_float ? Limits::infinity() : Limits::max());
  // If the bounds cross, the upper one wins. NaN stays NaN.
  return MapElements<1, T>(context, [low, high](T x) {
    const T raised = x < low ? low : x;
    return high < raised ? high : raised;
  });
}

Outputs EvaluateClip(const EvaluateContext& context) {
  const DType dtype = context.inputs[0]->dtype();
  if (model::IsFloat(dtype)) return ClipAs<double>(context);
  if (dtype == DType::kUint64) return ClipAs<uint64_t>(context);
  return ClipAs<int64_t>(context);
}

// ONNX Runtime uses the largest finite numbers for bounds that are left out. Runtimes also differ
// on NaN elements and bounds.
bool ClipsCertainly(const EvaluateContext& context, std::span<const Tensor>) {
  if (context.inputs[0]->dtype() == DType::kInt64) {
    const int64_t bounds[] = {Bound<int64_t>(context, "min", 1, 0),
                              Bound<int64_t>(context, "max", 2, 0)};
    return AreOrdered(context, bounds);
  }
  if (!model::IsFloat(context.inputs[0]->dtype())) return true;
  const auto is_finite = [](double value) { return std::isfinite(value); };
  const std::vector<double> values = context.inputs[0]->AsDoubles();
  return std::all_of(values.begin(), values.end(), is_finite) &&
         !std::isnan(context.attributes.GetFloat("min", 0)) &&
         !std::isnan(context.attributes.GetFloat("max", 0));
}

// In the tanh form, ONNX Runtime has the constants of the formula only in float32.
bool GeluIsCertain(const EvaluateContext& context, std::span<const Tensor>) {
  return context.inputs[0]->dtype() != DType::kFloat64;
}

// --- Rows ---

OpDef Row(const char* name, int since_opset, InferFn infer, EvaluateFn evaluate,
          std::vector<AttributeDef> attributes = {}) {
  return {.name = name,
          .op_class = OpClass::kUnary,
          .min_inputs = 1,
          .max_inputs = 1,
          .max_outputs = 1,
          .since_opset = since_opset,
          .layout = LayoutRole::kTied,
          .attributes = std::move(attributes),
          .infer = infer,
          .evaluate = evaluate};
}

// The row of a function of floats, which an operator may extend to other numbers.
OpDef Computing(Fn function, Fusion fusion, OpDef row) {
  row.function = function;
  row.fusion = fusion;
  return row;
}

// Floats of every type hold both bounds.
OpDef Within(double low, double high, OpDef row) {
  row.range = {low, high};
  return row;
}

// A function of floats without attributes.
template <auto f>
OpDef FloatRow(const char* name, int since_opset, Fn function, Fusion fusion = Fusion::kChain) {
  return Computing(function, fusion,
                   Row(name, since_opset, InferSame<Domain::kFloat>, EvaluateFloat<f>));
}

template <typename F>
OpDef FloatRowWith(const char* name, int since_opset, Fn function, Fusion fusion,
                   std::vector<AttributeDef> attributes) {
  return Computing(function, fusion,
                   Row(name, since_opset, InferSame<Domain::kFloat>, EvaluateFloatWith<F>,
                       std::move(attributes)));
}

// Of all numbers.
template <auto f>
OpDef NumberRow(const char* name, int since_opset, Fn function, Fusion fusion = Fusion::kChain,
                InferFn infer = InferSame<Domain::kNumeric>) {
  return Computing(function, fusion, Row(name, since_opset, infer, EvaluateNumbers<f>));
}

AttributeDef Float(const char* name, double otherwise) {
  return {name, AttributeDef::Kind::kFloat, otherwise};
}
AttributeDef Int(const char* name, int64_t otherwise) {
  return {name, AttributeDef::Kind::kInt, otherwise};
}

OpDef GeluRow() {
  OpDef row =
      FloatRowWith<Gelu>("Gelu", 20, Fn::kGeluErf, Fusion::kBehind,
                         {{"approximate", AttributeDef::Kind::kString, std::string("none")}});
  row.accepts = AcceptsGelu;
  row.is_certain = GeluIsCertain;
  return row;
}

OpDef ClipRow() {
  OpDef row = Computing(Fn::kClip, Fusion::kBehind, Row("Clip", 11, InferClip, EvaluateClip));
  row.max_inputs = 3;
  row.is_certain = ClipsCertainly;
  row.parameters = {{1, "min", Parameter::Kind::kFloat}, {2, "max", Parameter::Kind::kFloat}};
  row.attributes = {{"min", AttributeDef::Kind::kFloat, std::nullopt},
                    {"max", AttributeDef::Kind::kFloat, std::nullopt}};
  return row;
}

OpDef SignRow() {
  OpDef row = Within(-1, 1, NumberRow<kSign>("Sign", 9, Fn::kSign));
  row.is_certain = IsCertainIfOrdered;
  return row;
}

std::vector<OpDef> ExactRows() {
  return {
      NumberRow<kNeg>("Neg", 6, Fn::kNeg, Fusion::kBehind, InferNeg),
      NumberRow<kAbs>("Abs", 6, Fn::kAbs, Fusion::kBehind),
      SignRow(),
      NumberRow<kRelu>("Relu", 6, Fn::kRelu, Fusion::kBehind),
      FloatRow<[](double x) { return std::floor(x); }>("Floor", 6, Fn::kFloor),
      FloatRow<[](double x) { return std::ceil(x); }>("Ceil", 6, Fn::kCeil),
      FloatRow<[](double x) { return std::nearbyint(x); }>("Round", 11, Fn::kRound),  // To even.
      Row("Not", 1, InferNot, EvaluateNot),
      Row("IsNaN", 9, InferPredicate<Domain::kFloat>,
          EvaluateFloat<[](double x) { return static_cast<double>(std::isnan(x)); }>),
      Row("IsInf", 10, InferPredicate<Domain::kFloat>, EvaluateFloatWith<IsInf>,
          {Int("detect_negative", 1), Int("detect_positive", 1)}),
      ClipRow(),
  };
}

std::vector<OpDef> MathRows() {
  return {
      FloatRow<[](double x) { return std::sqrt(x); }>("Sqrt", 6, Fn::kSqrt, Fusion::kBehind),
      FloatRow<[](double x) { return 1 / x; }>("Reciprocal", 6, Fn::kReciprocal),
      FloatRow<[](double x) { return std::exp(x); }>("Exp", 6, Fn::kExp, Fusion::kBehind),
      FloatRow<[](double x) { return std::log(x); }>("Log", 6, Fn::kLog),
      Within(-1, 1, FloatRow<[](double x) { return std::erf(x); }>("Erf", 9, Fn::kErf)),
      FloatRow<[](double x) { return std::sin(x); }>("Sin", 7, Fn::kSin),
      FloatRow<[](double x) { return std::cos(x); }>("Cos", 7, Fn::kCos),
      FloatRow<[](double x) { return std::tan(x); }>("Tan", 7, Fn::kTan),
      FloatRow<[](double x) { return std::asin(x); }>("Asin", 7, Fn::kAsin),
      FloatRow<[](double x) { return std::acos(x); }>("Acos", 7, Fn::kAcos),
      Within(-2, 2, FloatRow<[](double x) { return std::atan(x); }>("Atan", 7, Fn::kAtan)),
      FloatRow<[](double x) { return std::sinh(x); }>("Sinh", 9, Fn::kSinh),
      FloatRow<[](double x) { return std::cosh(x); }>("Cosh", 9, Fn::kCosh),
      Within(
          -1, 1,
          FloatRow<[](double x) { return std::tanh(x); }>("Tanh", 6, Fn::kTanh, Fusion::kBehind)),
      FloatRow<[](double x) { return std::asinh(x); }>("Asinh", 9, Fn::kAsinh),
      FloatRow<[](double x) { return std::acosh(x); }>("Acosh", 9, Fn::kAcosh),
      FloatRow<[](double x) { return std::atanh(x); }>("Atanh", 9, Fn::kAtanh),
  };
}

std::vector<OpDef> ActivationRows() {
  return {
      Within(0, 1,
             FloatRow<[](double x) { return Logistic(x); }>("Sigmoid", 6, Fn::kSigmoid,
                                                            Fusion::kBehind)),
      FloatRow<[](double x) { return LogOnePlusExp(x); }>("Softplus", 1, Fn::kSoftplus,
                                                          Fusion::kBehind),
      FloatRow<[](double x) { return x / (1 + std::fabs(x)); }>("Softsign", 1, Fn::kSoftsign),
      FloatRow<[](double x) { return x * Unit(x / 6 + 0.5); }>("HardSwish", 14, Fn::kHardSwish,
                                                               Fusion::kBehind),
      FloatRow<[](double x) { return x * std::tanh(LogOnePlusExp(x)); }>("Mish", 18, Fn::kMish,
                                                                         Fusion::kBehind),
      FloatRowWith<LeakyRelu>("LeakyRelu", 6, Fn::kLeakyRelu, Fusion::kBehind,
                              {Float("alpha", 0.01f)}),
      FloatRowWith<Elu>("Elu", 6, Fn::kElu, Fusion::kBehind, {Float("alpha", 1)}),
      FloatRowWith<Celu>("Celu", 12, Fn::kCelu, Fusion::kChain, {Float("alpha", 1)}),
      FloatRowWith<Selu>(
          "Selu", 6, Fn::kSelu, Fusion::kChain,
          {Float("alpha", 1.67326319217681884765625f), Float("gamma", 1.05070102214813232421875f)}),
      Within(0, 1,
             FloatRowWith<HardSigmoid>("HardSigmoid", 6, Fn::kHardSigmoid, Fusion::kBehind,
                                       {Float("alpha", 0.2f), Float("beta", 0.5)})),
      FloatRowWith<ThresholdedRelu>("ThresholdedRelu", 10, Fn::kThresholdedRelu, Fusion::kChain,
                                    {Float("alpha", 1)}),
      FloatRowWith<Swish>("Swish", 24, Fn::kSwish, Fusion::kBehind, {Float("alpha", 1)}),
      GeluRow(),
  };
}

}  // namespace

std::span<const OpDef> UnaryOps() {
  static const auto& rows = *[] {
    auto* all = new std::vector<OpDef>(ExactRows());
    for (OpDef& row : *all) row.exact = true;
    for (const std::vector<OpDef>& part : {MathRows(), ActivationRows()}) {
      all->insert(all->end(), part.begin(), part.end());
    }
    return all;
  }();
  return rows;
}

}  // namespace quotient::ops
