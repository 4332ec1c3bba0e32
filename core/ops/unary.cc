// Element-wise operators of one tensor that compute no float anew: signs, whole parts, bounds, and
// questions.

#include "core/ops/unary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/certain.h"
#include "core/ops/dims.h"
#include "core/ops/families.h"

namespace quotient::ops {
namespace {

using model::AttributeMap;
using model::DType;
using model::Tensor;
using model::TensorType;

using Fn = UnaryFunction;
using Outputs = absl::StatusOr<std::vector<Tensor>>;

// --- Inference ---

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

struct IsInf {
  explicit IsInf(const AttributeMap& a)
      : negative(a.GetInt("detect_negative", 1) != 0),
        positive(a.GetInt("detect_positive", 1) != 0) {}
  double operator()(double x) const { return std::isinf(x) && (x < 0 ? negative : positive); }
  bool negative, positive;
};

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

// --- Bounds ---

Interval BoundsOfNeg(const BoundsContext& context) {
  return InType(context.dtype(), Negative(context.in(0)));
}
Interval BoundsOfAbs(const BoundsContext& context) {
  return InType(context.dtype(), Absolute(context.in(0)));
}
Interval BoundsOfRelu(const BoundsContext& context) {
  return Clamped(context.in(0), 0, Interval::kInfinity);
}
Interval BoundsOfRound(const BoundsContext& context) {
  const Interval x = context.in(0);
  return InType(context.dtype(), {std::floor(x.low), std::ceil(x.high), x.may_be_nan});
}

Interval BoundsOfClip(const BoundsContext& context) {
  // Bounds that stayed inputs are those of 64-bit integers.
  if (context.inputs.size() > 1) return AnythingOf(context.dtype());
  const double low = context.attributes.GetFloat("min", -Interval::kInfinity);
  const double high = context.attributes.GetFloat("max", Interval::kInfinity);
  if (!(low <= high)) return AnythingOf(context.dtype());
  return InType(context.dtype(), Clamped(context.in(0), low, high));
}

// --- Rows ---

// A function of all numbers.
template <auto f>
OpDef NumberRow(const char* name, int since_opset, Fn function, Fusion fusion, Numerics numerics,
                InferFn infer = InferSame<Domain::kNumeric>) {
  return Computing(function, fusion, std::move(numerics),
                   UnaryRow(name, since_opset, infer, EvaluateNumbers<f>));
}

// A function from floats to whole numbers.
template <auto f>
OpDef WholeRow(const char* name, int since_opset, Fn function, BoundsFn bounds) {
  return FloatRow<f>(name, since_opset, function, Fusion::kChain, {.bounds = bounds, .step = true});
}

// A question about floats, which infinities do not make undefined.
OpDef QuestionRow(const char* name, int since_opset, EvaluateFn evaluate,
                  std::vector<AttributeDef> attributes = {}) {
  OpDef row =
      UnaryRow(name, since_opset, InferPredicate<Domain::kFloat>, evaluate, std::move(attributes));
  row.numerics.at_infinity = AtInfinity::kEnds;
  return row;
}

OpDef ClipRow() {
  OpDef row = Computing(Fn::kClip, Fusion::kBehind,
                        {.bounds = BoundsOfClip, .at_infinity = AtInfinity::kEnds},
                        UnaryRow("Clip", 11, InferClip, EvaluateClip));
  row.max_inputs = 3;
  row.is_certain = ClipsCertainly;
  row.parameters = {{1, "min", Parameter::Kind::kFloat}, {2, "max", Parameter::Kind::kFloat}};
  row.attributes = {{"min", AttributeDef::Kind::kFloat, std::nullopt},
                    {"max", AttributeDef::Kind::kFloat, std::nullopt}};
  return row;
}

OpDef SignRow() {
  OpDef row =
      NumberRow<kSign>("Sign", 9, Fn::kSign, Fusion::kChain,
                       {.bounds = Between<-1, 1>, .step = true, .at_infinity = AtInfinity::kEnds});
  row.is_certain = IsCertainIfOrdered;
  return row;
}

constexpr auto kFloor = [](double x) { return std::floor(x); };
constexpr auto kCeil = [](double x) { return std::ceil(x); };
constexpr auto kRound = [](double x) { return std::nearbyint(x); };  // Halves to even numbers.

AttributeDef Flag(const char* name) { return {name, AttributeDef::Kind::kInt, int64_t{1}}; }

}  // namespace

OpDef UnaryRow(const char* name, int since_opset, InferFn infer, EvaluateFn evaluate,
               std::vector<AttributeDef> attributes) {
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

OpDef Computing(UnaryFunction function, Fusion fusion, Numerics numerics, OpDef row) {
  row.function = function;
  row.fusion = fusion;
  row.numerics = std::move(numerics);
  return row;
}

std::span<const OpDef> UnaryOps() {
  static const auto& rows = *[] {
    auto* all = new std::vector<OpDef>{
        NumberRow<kNeg>("Neg", 6, Fn::kNeg, Fusion::kBehind,
                        {.bounds = BoundsOfNeg, .at_infinity = AtInfinity::kStays}, InferNeg),
        NumberRow<kAbs>("Abs", 6, Fn::kAbs, Fusion::kBehind, {.bounds = BoundsOfAbs}),
        SignRow(),
        NumberRow<kRelu>("Relu", 6, Fn::kRelu, Fusion::kBehind,
                         {.bounds = BoundsOfRelu, .at_infinity = AtInfinity::kEndsIfBelow}),
        WholeRow<kFloor>("Floor", 6, Fn::kFloor, Rising<kFloor>),
        WholeRow<kCeil>("Ceil", 6, Fn::kCeil, Rising<kCeil>),
        WholeRow<kRound>("Round", 11, Fn::kRound, BoundsOfRound),
        UnaryRow("Not", 1, InferNot, EvaluateNot),
        QuestionRow("IsNaN", 9,
                    EvaluateFloat<[](double x) { return static_cast<double>(std::isnan(x)); }>),
        QuestionRow("IsInf", 10, EvaluateFloatWith<IsInf>,
                    {Flag("detect_negative"), Flag("detect_positive")}),
        ClipRow(),
    };
    for (OpDef& row : *all) row.exact = true;
    return all;
  }();
  return rows;
}

}  // namespace quotient::ops
