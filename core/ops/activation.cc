// Activations of neural networks: functions of one float.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "core/ops/bounds.h"
#include "core/ops/families.h"
#include "core/ops/unary.h"

namespace quotient::ops {
namespace {

using model::AttributeMap;
using model::DType;
using model::Tensor;

using Fn = UnaryFunction;

constexpr double kInfinity = Interval::kInfinity;

// --- Evaluation ---

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }
// log(1 + e^x) without overflow.
double LogOnePlusExp(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
constexpr auto kSoftplus = [](double x) { return LogOnePlusExp(x); };
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

// In the tanh form, ONNX Runtime has the constants of the formula only in float32.
bool GeluIsCertain(const EvaluateContext& context, std::span<const Tensor>) {
  return context.inputs[0]->dtype() != DType::kFloat64;
}

// --- Bounds ---

// x times a factor in [0, 1] that is 0 at -infinity, as HardSwish and GELU. No result is below
// -`depth` tenths.
template <int depth>
Interval Gated(const BoundsContext& context) {
  const Interval x = context.in(0);
  const double least = -depth / 10.0;
  return InType(context.dtype(),
                {x.nonnegative() ? 0 : std::max(least, x.low), std::max(x.high, 0.0),
                 x.may_be_nan || x.low == -kInfinity},
                kFunctionSlack);
}

Interval BoundsOfLeakyRelu(const BoundsContext& context) {
  const double alpha = context.attributes.GetFloat("alpha", 0.01);
  const Interval x = context.in(0);
  const Interval below = Product(Clamped(x, -kInfinity, 0), {alpha, alpha, false});
  return InType(context.dtype(), Hull(Clamped(x, 0, kInfinity), below), kFunctionSlack);
}

Interval BoundsOfElu(const BoundsContext& context) {
  const double alpha = context.attributes.GetFloat("alpha", 1);
  const Interval x = context.in(0);
  const Interval below{std::min(0.0, -alpha), std::max(0.0, -alpha), x.may_be_nan};
  return InType(context.dtype(), Hull(Clamped(x, 0, kInfinity), Hull(below, {0, 0, false})),
                kFunctionSlack);
}

// --- Rows ---

AttributeDef Float(const char* name, double otherwise) {
  return {name, AttributeDef::Kind::kFloat, otherwise};
}

OpDef GeluRow() {
  OpDef row = FloatRowWith<Gelu>(
      "Gelu", 20, Fn::kGeluErf, Fusion::kBehind,
      {{"approximate", AttributeDef::Kind::kString, std::string("none")}}, {.bounds = Gated<2>});
  row.accepts = AcceptsGelu;
  row.is_certain = GeluIsCertain;
  return row;
}

}  // namespace

std::span<const OpDef> ActivationOps() {
  static const auto& rows = *new std::vector<OpDef>{
      FloatRow<[](double x) { return Logistic(x); }>(
          "Sigmoid", 6, Fn::kSigmoid, Fusion::kBehind,
          {.bounds = Between<0, 1>, .at_infinity = AtInfinity::kEnds}),
      FloatRow<kSoftplus>("Softplus", 1, Fn::kSoftplus, Fusion::kBehind,
                          {.bounds = Rising<kSoftplus>}),
      FloatRow<[](double x) { return x / (1 + std::fabs(x)); }>("Softsign", 1, Fn::kSoftsign,
                                                                Fusion::kChain),
      FloatRow<[](double x) { return x * Unit(x / 6 + 0.5); }>(
          "HardSwish", 14, Fn::kHardSwish, Fusion::kBehind, {.bounds = Gated<4>}),
      FloatRow<[](double x) { return x * std::tanh(LogOnePlusExp(x)); }>(
          "Mish", 18, Fn::kMish, Fusion::kBehind, {.bounds = Gated<4>}),
      FloatRowWith<LeakyRelu>("LeakyRelu", 6, Fn::kLeakyRelu, Fusion::kBehind,
                              {Float("alpha", 0.01f)}, {.bounds = BoundsOfLeakyRelu}),
      FloatRowWith<Elu>("Elu", 6, Fn::kElu, Fusion::kBehind, {Float("alpha", 1)},
                        {.bounds = BoundsOfElu}),
      FloatRowWith<Celu>("Celu", 12, Fn::kCelu, Fusion::kChain, {Float("alpha", 1)}),
      FloatRowWith<Selu>(
          "Selu", 6, Fn::kSelu, Fusion::kChain,
          {Float("alpha", 1.67326319217681884765625f), Float("gamma", 1.05070102214813232421875f)}),
      FloatRowWith<HardSigmoid>("HardSigmoid", 6, Fn::kHardSigmoid, Fusion::kBehind,
                                {Float("alpha", 0.2f), Float("beta", 0.5)},
                                {.bounds = Between<0, 1>}),
      FloatRowWith<ThresholdedRelu>("ThresholdedRelu", 10, Fn::kThresholdedRelu, Fusion::kChain,
                                    {Float("alpha", 1)}, {.step = true}),
      FloatRowWith<Swish>("Swish", 24, Fn::kSwish, Fusion::kBehind, {Float("alpha", 1)}),
      GeluRow(),
  };
  return rows;
}

}  // namespace quotient::ops
