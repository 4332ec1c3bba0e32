// Functions of mathematics of one float: roots, powers, logarithms, circular and hyperbolic ones.

#include <algorithm>
#include <cmath>

#include "core/ops/bounds.h"
#include "core/ops/families.h"
#include "core/ops/unary.h"

namespace quotient::ops {
namespace {

using model::Tensor;

using Fn = UnaryFunction;

constexpr double kInfinity = Interval::kInfinity;

constexpr auto kExp = [](double x) { return std::exp(x); };

// --- Facts ---

Interval BoundsOfSqrt(const BoundsContext& context) {
  const Interval x = context.in(0);
  if (x.high < 0) return AnythingOf(context.dtype());
  return InType(context.dtype(),
                {std::sqrt(std::max(x.low, 0.0)), std::sqrt(x.high), x.may_be_nan || x.low < 0});
}

Interval BoundsOfLog(const BoundsContext& context) {
  const Interval x = context.in(0);
  if (x.high < 0) return AnythingOf(context.dtype());
  const auto log = [](double v) { return v <= 0 ? -kInfinity : std::log(v); };
  return InType(context.dtype(), {log(x.low), log(x.high), x.may_be_nan || x.low < 0},
                kFunctionSlack);
}

Interval BoundsOfReciprocal(const BoundsContext& context) {
  return InType(context.dtype(), Quotient({1, 1, false}, context.in(0)));
}

// Sine and cosine of an infinity are NaN.
Interval BoundsOfWave(const BoundsContext& context) {
  return {-1, 1, context.in(0).may_be_nan || !context.in(0).bounded()};
}

bool AtanhIsAtPole(std::span<const Tensor* const> inputs) {
  const auto is_pole = [](double value) { return std::abs(value) == 1; };
  return std::ranges::any_of(inputs[0]->AsDoubles(), is_pole);
}

const Requirement kPositiveInput = {0, Requirement::Kind::kPositive};

// --- Rows ---

template <auto f>
OpDef Row(const char* name, int since_opset, Fn function, Numerics numerics = {}) {
  return FloatRow<f>(name, since_opset, function, Fusion::kChain, std::move(numerics));
}

std::vector<OpDef> PowerRows() {
  return {
      FloatRow<[](double x) { return std::sqrt(x); }>(
          "Sqrt", 6, Fn::kSqrt, Fusion::kBehind,
          {.bounds = BoundsOfSqrt, .singular_at_zero = true, .requirements = {kPositiveInput}}),
      Row<[](double x) { return 1 / x; }>(
          "Reciprocal", 6, Fn::kReciprocal,
          {.bounds = BoundsOfReciprocal, .singular_at_zero = true, .is_at_pole = HasZeroAt<0>}),
      FloatRow<kExp>("Exp", 6, Fn::kExp, Fusion::kBehind,
                     {.bounds = Rising<kExp>, .at_infinity = AtInfinity::kEndsIfBelow}),
      Row<[](double x) { return std::log(x); }>("Log", 6, Fn::kLog,
                                                {.bounds = BoundsOfLog,
                                                 .singular_at_zero = true,
                                                 .is_at_pole = HasZeroAt<0>,
                                                 .requirements = {kPositiveInput}}),
      Row<[](double x) { return std::erf(x); }>(
          "Erf", 9, Fn::kErf, {.bounds = Between<-1, 1>, .at_infinity = AtInfinity::kEnds}),
  };
}

std::vector<OpDef> AngleRows() {
  return {
      Row<[](double x) { return std::sin(x); }>("Sin", 7, Fn::kSin, {.bounds = BoundsOfWave}),
      Row<[](double x) { return std::cos(x); }>("Cos", 7, Fn::kCos, {.bounds = BoundsOfWave}),
      Row<[](double x) { return std::tan(x); }>("Tan", 7, Fn::kTan),
      Row<[](double x) { return std::asin(x); }>("Asin", 7, Fn::kAsin),
      Row<[](double x) { return std::acos(x); }>("Acos", 7, Fn::kAcos),
      Row<[](double x) { return std::atan(x); }>("Atan", 7, Fn::kAtan, {.bounds = Between<-2, 2>}),
      Row<[](double x) { return std::sinh(x); }>("Sinh", 9, Fn::kSinh),
      Row<[](double x) { return std::cosh(x); }>("Cosh", 9, Fn::kCosh),
      FloatRow<[](double x) { return std::tanh(x); }>(
          "Tanh", 6, Fn::kTanh, Fusion::kBehind,
          {.bounds = Between<-1, 1>, .at_infinity = AtInfinity::kEnds}),
      Row<[](double x) { return std::asinh(x); }>("Asinh", 9, Fn::kAsinh),
      Row<[](double x) { return std::acosh(x); }>("Acosh", 9, Fn::kAcosh),
      Row<[](double x) { return std::atanh(x); }>("Atanh", 9, Fn::kAtanh,
                                                  {.is_at_pole = AtanhIsAtPole}),
  };
}

}  // namespace

std::span<const OpDef> FunctionOps() {
  static const auto& rows = *[] {
    auto* all = new std::vector<OpDef>(PowerRows());
    for (OpDef& row : AngleRows()) all->push_back(std::move(row));
    return all;
  }();
  return rows;
}

}  // namespace quotient::ops
