#include "core/domain/operator_intervals.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "absl/container/flat_hash_map.h"

namespace quotient::domain {
namespace {

using model::DType;

constexpr double kInfinity = Interval::kInfinity;

// Relative error allowed for results that are not correctly rounded: functions and long sums.
constexpr double kFunctionSlack = 0x1p-10;
// Greater than the number of elements of any tensor.
constexpr double kUnknownCount = 0x1p48;

struct Call {
  const model::AttributeMap& attributes;
  std::span<const FactInput> inputs;
  const model::TensorType& output;

  bool has(size_t i) const { return i < inputs.size() && inputs[i].facts != nullptr; }
  // An input left out can be anything.
  Interval in(size_t i) const { return has(i) ? inputs[i].facts->values : Interval(); }
  DType dtype() const { return output.dtype; }
  bool same_operands() const { return inputs.size() == 2 && inputs[0].cls == inputs[1].cls; }
};
using Transfer = Interval (*)(const Call&);

// --- One operand ---

// A nondecreasing function, evaluated at both bounds.
template <typename F>
Interval Rising(const Call& call, const F& f, double slack = kFunctionSlack) {
  const Interval x = call.in(0);
  return InType(call.dtype(), {f(x.low), f(x.high), x.may_be_nan}, slack);
}

// A function whose values lie within two bounds that every float type represents exactly.
template <int low, int high>
Interval Within(const Call& call) {
  return {low, high, call.in(0).may_be_nan};
}

// x times a factor in [0, 1] that tends to 0 at -infinity, as in HardSwish, GELU and SiLU. `least`
// is a lower bound of the function.
Interval Gated(const Call& call, double least) {
  const Interval x = call.in(0);
  return InType(call.dtype(),
                {x.nonnegative() ? 0 : std::max(least, x.low), std::max(x.high, 0.0),
                 x.may_be_nan || x.low == -kInfinity},
                kFunctionSlack);
}

Interval Same(const Call& call) { return call.in(0); }
Interval NegOf(const Call& call) { return InType(call.dtype(), Negative(call.in(0))); }
Interval AbsOf(const Call& call) { return InType(call.dtype(), Absolute(call.in(0))); }
Interval ReluOf(const Call& call) { return Clamped(call.in(0), 0, kInfinity); }
Interval FloorOf(const Call& call) {
  return Rising(call, [](double x) { return std::floor(x); });
}
Interval CeilOf(const Call& call) {
  return Rising(call, [](double x) { return std::ceil(x); });
}
Interval RoundOf(const Call& call) {
  const Interval x = call.in(0);
  return InType(call.dtype(), {std::floor(x.low), std::ceil(x.high), x.may_be_nan});
}
Interval ExpOf(const Call& call) {
  return Rising(call, [](double x) { return std::exp(x); });
}
Interval AtanOf(const Call& call) { return Within<-2, 2>(call); }
Interval HardSwishOf(const Call& call) { return Gated(call, -0.4); }
Interval GeluOf(const Call& call) { return Gated(call, -0.2); }
Interval MishOf(const Call& call) { return Gated(call, -0.4); }

Interval LeakyReluOf(const Call& call) {
  const double alpha = call.attributes.GetFloat("alpha", 0.01);
  const Interval x = call.in(0);
  const Interval below = Product(Clamped(x, -kInfinity, 0), {alpha, alpha, false});
  return InType(call.dtype(), Hull(Clamped(x, 0, kInfinity), below), kFunctionSlack);
}

Interval PReluOf(const Call& call) {
  const Interval x = call.in(0);
  const Interval below = Product(Clamped(x, -kInfinity, 0), call.in(1));
  return InType(call.dtype(), Hull(Clamped(x, 0, kInfinity), below));
}

Interval EluOf(const Call& call) {
  const double alpha = call.attributes.GetFloat("alpha", 1);
  const Interval x = call.in(0);
  const Interval below{std::min(0.0, -alpha), std::max(0.0, -alpha), false};
  return InType(call.dtype(), Hull(Clamped(x, 0, kInfinity), Hull(below, {0, 0, x.may_be_nan})),
                kFunctionSlack);
}

Interval SoftplusOf(const Call& call) {
  return Rising(call,
                [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); });
}

Interval SqrtOf(const Call& call) {
  const Interval x = call.in(0);
  if (x.high < 0) return AnythingOf(call.dtype());
  return InType(call.dtype(),
                {std::sqrt(std::max(x.low, 0.0)), std::sqrt(x.high), x.may_be_nan || x.low < 0});
}

Interval LogOf(const Call& call) {
  const Interval x = call.in(0);
  if (x.high < 0) return AnythingOf(call.dtype());
  const auto log = [](double v) { return v <= 0 ? -kInfinity : std::log(v); };
  return InType(call.dtype(), {log(x.low), log(x.high), x.may_be_nan || x.low < 0}, kFunctionSlack);
}

Interval ReciprocalOf(const Call& call) {
  return InType(call.dtype(), Quotient({1, 1, false}, call.in(0)));
}

// The sine and cosine of an infinity are NaN.
Interval WaveOf(const Call& call) {
  return {-1, 1, call.in(0).may_be_nan || !call.in(0).bounded()};
}

Interval ClipOf(const Call& call) {
  // Bounds that are still inputs are 64-bit integers, which attributes cannot hold.
  if (call.inputs.size() > 1) return AnythingOf(call.dtype());
  const double low = call.attributes.GetFloat("min", -kInfinity);
  const double high = call.attributes.GetFloat("max", kInfinity);
  if (!(low <= high)) return AnythingOf(call.dtype());
  return InType(call.dtype(), Clamped(call.in(0), low, high));
}

Interval CastOf(const Call& call) {
  if (call.dtype() == DType::kBool) return AnythingOf(DType::kBool);
  const Interval x = call.in(0);
  if (model::IsFloat(call.dtype())) return InType(call.dtype(), x);
  const Interval truncated{std::trunc(x.low), std::trunc(x.high), x.may_be_nan};
  return InType(call.dtype(), truncated);
}

// --- Several operands ---

Interval AddOf(const Call& call) { return InType(call.dtype(), Sum(call.in(0), call.in(1))); }
Interval SubOf(const Call& call) {
  return InType(call.dtype(), Sum(call.in(0), Negative(call.in(1))));
}

Interval MulOf(const Call& call) {
  Interval product = Product(call.in(0), call.in(1));
  if (call.same_operands()) {  // A square.
    product.low = 0;
    product.may_be_nan = call.in(0).may_be_nan;
  }
  return InType(call.dtype(), product);
}

// Integer division truncates; division by zero is an error.
Interval DivOf(const Call& call) {
  if (model::IsFloat(call.dtype())) return InType(call.dtype(), Quotient(call.in(0), call.in(1)));
  const double size = call.in(0).magnitude();
  const bool stays = call.in(0).nonnegative() && call.in(1).nonnegative();
  return InType(call.dtype(), {stays ? 0 : -size, size, false});
}

// Only for an exponent that is the same number for all elements.
Interval PowOf(const Call& call) {
  const Interval exponent = call.in(1);
  if (!model::IsFloat(call.dtype()) || !exponent.finite() || exponent.low != exponent.high) {
    return AnythingOf(call.dtype());
  }
  const Interval x = call.in(0);
  const double e = exponent.low;
  const bool whole = std::floor(e) == e;
  if (e < 0 ? !x.positive() : !x.nonnegative() && !whole) {
    // An even power is never negative, whatever else is unknown.
    Interval all;
    if (whole && std::fmod(e, 2) == 0) all.low = 0;
    return all;
  }
  const double at_low = std::pow(x.low, e);
  const double at_high = std::pow(x.high, e);
  Interval power{std::min(at_low, at_high), std::max(at_low, at_high), x.may_be_nan};
  if (e > 0 && std::fmod(e, 2) == 0 && x.contains(0)) power.low = 0;
  return InType(call.dtype(), power, kFunctionSlack);
}

template <bool largest>
Interval ExtremeOf(const Call& call) {
  Interval result = call.in(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    const Interval next = call.in(i);
    const auto pick = [](double a, double b) { return largest ? std::max(a, b) : std::min(a, b); };
    result = {pick(result.low, next.low), pick(result.high, next.high),
              result.may_be_nan || next.may_be_nan};
  }
  return result;
}

Interval SumOfAll(const Call& call) {
  Interval result = call.in(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    result = InType(call.dtype(), Sum(result, call.in(i)), kFunctionSlack);
  }
  return result;
}

// The sum is computed first and may overflow.
Interval MeanOfAll(const Call& call) {
  const double count = std::max<double>(1, static_cast<double>(call.inputs.size()));
  return InType(call.dtype(), Quotient(SumOfAll(call), {count, count, false}), kFunctionSlack);
}

// --- Choosing among elements ---

// The hull of the inputs [first, last).
Interval HullOf(const Call& call, size_t first, size_t last) {
  Interval hull = call.in(first);
  for (size_t i = first + 1; i < last; ++i) hull = Hull(hull, call.in(i));
  return hull;
}
Interval AnyInput(const Call& call) { return HullOf(call, 0, call.inputs.size()); }
Interval WhereOf(const Call& call) { return HullOf(call, 1, 3); }

Interval OrZero(const Call& call) { return Hull(call.in(0), {0, 0, false}); }

Interval PadOf(const Call& call) {
  if (call.inputs.size() > 1) return AnythingOf(call.dtype());
  const double border = call.attributes.GetFloat("constant_value", 0);
  return Hull(call.in(0), {border, border, std::isnan(border)});
}

Interval ScatterOf(const Call& call) {
  if (call.attributes.GetString("reduction", "none") != "none") return AnythingOf(call.dtype());
  return Hull(call.in(0), call.in(2));
}

Interval ResizeOf(const Call& call) {
  const double outside = call.attributes.GetFloat("extrapolation_value", 0);
  const Interval x = call.in(0);
  // The weights of neighbours add up to 1, except for rounding. An infinite neighbour times 0 is
  // NaN.
  const Interval mixed{x.low, x.high, x.may_be_nan || !x.bounded()};
  return InType(call.dtype(), Hull(mixed, {outside, outside, std::isnan(outside)}), kFunctionSlack);
}

Interval FilledOf(const Call& call) {
  const model::Attribute* value = call.attributes.Find("value");
  if (value == nullptr) return {0, 0, false};
  const auto* tensor = std::get_if<model::Tensor>(value);
  return tensor == nullptr ? AnythingOf(call.dtype()) : FactsOfConstant(*tensor).values;
}

// A number of elements is not negative.
Interval CountOf(const Call& call) { return {0, AnythingOf(call.dtype()).high, false}; }

// --- Sums along axes ---

// An upper bound on the number of elements along some axes, and whether there may be none.
struct Count {
  double most = 1;
  bool empty = false;

  void Times(const model::TensorType& type, int axis) {
    if (!type.dim(axis).is_number()) {
      most = kUnknownCount;
      empty = true;
      return;
    }
    most = std::min(most * static_cast<double>(type.dim(axis).number()), kUnknownCount);
    empty |= type.dim(axis).number() == 0;
  }
};

Count CountAxes(const model::TensorType& type, int begin, int end) {
  Count count;
  for (int axis = begin; axis < end; ++axis) count.Times(type, axis);
  return count;
}

Count ReducedCount(const Call& call) {
  const model::TensorType& type = *call.inputs[0].type;
  const model::Ints* axes = call.attributes.FindInts("axes");
  if (!type.has_rank() || call.inputs.size() > 1) return {kUnknownCount, true};
  if (axes == nullptr) return CountAxes(type, 0, type.rank());
  Count count;
  for (const int64_t axis : *axes) {
    const int64_t counted = axis < 0 ? axis + type.rank() : axis;
    if (counted < 0 || counted >= type.rank()) return {kUnknownCount, true};
    count.Times(type, static_cast<int>(counted));
  }
  return count;
}

Interval ReduceSumOf(const Call& call) {
  return InType(call.dtype(), SumOf(call.dtype(), call.in(0), ReducedCount(call).most));
}

Interval MeanOver(const Call& call, const Count& count) {
  if (!model::IsFloat(call.dtype())) return AnythingOf(call.dtype());
  const Interval x = call.in(0);
  const Interval sum = SumOf(call.dtype(), x, count.most);
  if (count.empty || !sum.finite()) {
    // The mean of no elements is NaN. A sum of non-negative numbers at worst overflows to infinity.
    const Interval rising{0, kInfinity, count.empty || x.may_be_nan};
    return x.nonnegative() ? rising : Interval();
  }
  const double spread = std::max((sum.magnitude() - count.most * x.magnitude()) / count.most, 0.0);
  return InType(call.dtype(),
                {x.nonnegative() ? 0 : x.low - spread, x.high <= 0 ? 0 : x.high + spread, false},
                kFunctionSlack);
}

Interval ReduceMeanOf(const Call& call) { return MeanOver(call, ReducedCount(call)); }

Interval GlobalAverageOf(const Call& call) {
  const model::TensorType& type = *call.inputs[0].type;
  if (!type.has_rank()) return AnythingOf(call.dtype());
  return MeanOver(call, CountAxes(type, 2, type.rank()));
}

Interval AveragePoolOf(const Call& call) {
  Count count;
  for (const int64_t size : call.attributes.GetInts("kernel_shape", {})) {
    count.most = std::min(count.most * static_cast<double>(size), kUnknownCount);
  }
  // With ceil_mode a window may lie in the padding alone and have no elements.
  if (call.attributes.GetInt("ceil_mode", 0) != 0) return AnythingOf(call.dtype());
  return Hull(MeanOver(call, count), {0, 0, false});
}

// The extreme of no elements is not an element.
Interval ReduceExtremeOf(const Call& call) {
  return ReducedCount(call).empty ? AnythingOf(call.dtype()) : call.in(0);
}
Interval MaxPoolOf(const Call& call) {
  const bool has_all = call.attributes.GetInt("ceil_mode", 0) == 0;
  return has_all ? call.in(0) : AnythingOf(call.dtype());
}
Interval GlobalMaxOf(const Call& call) {
  const model::TensorType& type = *call.inputs[0].type;
  const bool empty = !type.has_rank() || CountAxes(type, 2, type.rank()).empty;
  return empty ? AnythingOf(call.dtype()) : call.in(0);
}

Interval CumSumOf(const Call& call) {
  return InType(call.dtype(), SumOf(call.dtype(), call.in(0), kUnknownCount));
}

// --- Contractions ---

// Sums of `terms` products of elements of the first two inputs. Algorithms such as Winograd's have
// larger intermediate results, for which kOnTheWay allows.
Interval Contracted(const Call& call, double terms) {
  constexpr double kOnTheWay = 1024;
  const Interval product = InType(call.dtype(), Product(call.in(0), call.in(1)));
  const double reach = terms * product.magnitude();
  const bool far = call.dtype() != DType::kFloat16;
  if (!model::IsFloat(call.dtype()) || !(reach * (far ? kOnTheWay : 1) < LargestOf(call.dtype()))) {
    return AnythingOf(call.dtype());
  }
  return InType(call.dtype(), SumOf(call.dtype(), product, terms));
}

double SizeAt(const FactInput& input, int axis) {
  if (input.type == nullptr || !input.type->has_rank()) return kUnknownCount;
  if (axis < 0) axis += input.type->rank();
  if (axis < 0 || axis >= input.type->rank() || !input.type->dim(axis).is_number()) {
    return kUnknownCount;
  }
  return static_cast<double>(input.type->dim(axis).number());
}

Interval MatMulOf(const Call& call) { return Contracted(call, SizeAt(call.inputs[0], -1)); }

Interval GemmOf(const Call& call) {
  const bool transposed = call.attributes.GetInt("transA", 0) != 0;
  const double alpha = call.attributes.GetFloat("alpha", 1);
  const double beta = call.attributes.GetFloat("beta", 1);
  const Interval product = Contracted(call, SizeAt(call.inputs[0], transposed ? 0 : 1));
  Interval result = InType(call.dtype(), Product(product, {alpha, alpha, false}));
  if (!call.has(2)) return result;
  const Interval bias = InType(call.dtype(), Product(call.in(2), {beta, beta, false}));
  return InType(call.dtype(), Sum(result, bias));
}

// An output sums at most over all input channels of its group and the window.
Interval ConvOf(const Call& call, int first_window_axis) {
  const model::TensorType& weight = *call.inputs[1].type;
  double terms = kUnknownCount;
  if (weight.has_rank() && weight.rank() > first_window_axis) {
    terms = CountAxes(weight, first_window_axis, weight.rank()).most;
    if (first_window_axis == 2) terms *= SizeAt(call.inputs[1], 0);
  }
  const Interval result = Contracted(call, terms);
  return call.has(2) ? InType(call.dtype(), Sum(result, call.in(2))) : result;
}
Interval PlainConvOf(const Call& call) { return ConvOf(call, 1); }
Interval TransposedConvOf(const Call& call) { return ConvOf(call, 2); }

// --- Normalizations ---

bool IsLastAxis(const Call& call) {
  if (!call.output.has_rank()) return false;
  const int64_t axis = call.attributes.GetInt("axis", -1);
  return axis == -1 || axis == call.output.rank() - 1;
}

Interval SoftmaxOf(const Call& call) {
  if (!call.has(0)) return AnythingOf(call.dtype());
  const Facts& x = *call.inputs[0].facts;
  const bool safe = x.finite() || (x.softmax_safe() && IsLastAxis(call));
  return InType(call.dtype(), {0, 1, !safe}, kFunctionSlack);
}

Interval LogSoftmaxOf(const Call& call) {
  const Interval x = call.in(0);
  if (!x.finite()) return {-kInfinity, 0, true};
  // An upper bound of the logarithm of the number of elements.
  constexpr double kLogCount = 64;
  return InType(call.dtype(), {x.low - x.high - kLogCount, 0, false}, kFunctionSlack);
}

// (x - mean) / sqrt(variance + e), scaled and shifted. None of n numbers is further than sqrt(n)
// standard deviations from their mean. The variance is computed at least in float32, perhaps as the
// mean of squares minus the square of the mean.
Interval Normalized(const Call& call, double n) {
  const Interval x = call.in(0);
  const DType moments = call.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const bool guarded = call.attributes.GetFloat("epsilon", 1e-5) > 0;
  if (!guarded || !x.finite() || !(n * x.magnitude() * x.magnitude() * 4 < LargestOf(moments))) {
    return AnythingOf(call.dtype());
  }
  const double bound = std::sqrt(n) * 1.01;
  Interval result = InType(call.dtype(), {-bound, bound, false});
  if (call.has(1)) result = InType(call.dtype(), Product(result, call.in(1)), kFunctionSlack);
  if (call.has(2)) result = InType(call.dtype(), Sum(result, call.in(2)), kFunctionSlack);
  return result;
}

Interval NormalizedRows(const Call& call) {
  return Normalized(call, IsLastAxis(call) ? SizeAt(call.inputs[0], -1) : kUnknownCount);
}
Interval NormalizedChannels(const Call& call) { return Normalized(call, kUnknownCount); }

Interval BatchNormOf(const Call& call) {
  if (call.inputs.size() != 5) return AnythingOf(call.dtype());
  const double epsilon = call.attributes.GetFloat("epsilon", 1e-5);
  const Interval variance = Sum(call.in(4), {epsilon, epsilon, false});
  if (!variance.positive() || !variance.finite()) return AnythingOf(call.dtype());
  const Interval root{std::sqrt(variance.low), std::sqrt(variance.high), false};
  const Interval factor = InType(call.dtype(), Quotient(call.in(1), root), kFunctionSlack);
  // Covers both orders of computing: x s + (t - m s) and (x - m) s + t.
  const Interval scaled = InType(call.dtype(), Product(call.in(0), factor), kFunctionSlack);
  const Interval mean = InType(call.dtype(), Product(call.in(3), factor), kFunctionSlack);
  const Interval shift = InType(call.dtype(), Sum(call.in(2), Negative(mean)), kFunctionSlack);
  return InType(call.dtype(), Sum(scaled, shift), kFunctionSlack);
}

// --- Table ---

const absl::flat_hash_map<absl::string_view, Transfer>& Transfers() {
  static const auto& table = *new absl::flat_hash_map<absl::string_view, Transfer>{
      {"Neg", NegOf},
      {"Abs", AbsOf},
      {"Relu", ReluOf},
      {"LeakyRelu", LeakyReluOf},
      {"PRelu", PReluOf},
      {"Elu", EluOf},
      {"Softplus", SoftplusOf},
      {"Floor", FloorOf},
      {"Ceil", CeilOf},
      {"Round", RoundOf},
      {"Exp", ExpOf},
      {"Log", LogOf},
      {"Sqrt", SqrtOf},
      {"Reciprocal", ReciprocalOf},
      {"Sin", WaveOf},
      {"Cos", WaveOf},
      {"Atan", AtanOf},
      {"Sigmoid", Within<0, 1>},
      {"HardSigmoid", Within<0, 1>},
      {"Tanh", Within<-1, 1>},
      {"Erf", Within<-1, 1>},
      {"Sign", Within<-1, 1>},
      {"HardSwish", HardSwishOf},
      {"Gelu", GeluOf},
      {"Mish", MishOf},
      {"Clip", ClipOf},
      {"Cast", CastOf},
      {"Add", AddOf},
      {"Sub", SubOf},
      {"Mul", MulOf},
      {"Div", DivOf},
      {"Pow", PowOf},
      {"Max", ExtremeOf<true>},
      {"Min", ExtremeOf<false>},
      {"Sum", SumOfAll},
      {"Mean", MeanOfAll},
      {"Where", WhereOf},
      {"Identity", Same},
      {"Dropout", Same},
      {"Transpose", Same},
      {"Reshape", Same},
      {"Flatten", Same},
      {"Squeeze", Same},
      {"Unsqueeze", Same},
      {"Expand", Same},
      {"Tile", Same},
      {"Slice", Same},
      {"Split", Same},
      {"Gather", Same},
      {"GatherElements", Same},
      {"GatherND", Same},
      {"Concat", AnyInput},
      {"Trilu", OrZero},
      {"Pad", PadOf},
      {"ScatterND", ScatterOf},
      {"Resize", ResizeOf},
      {"ConstantOfShape", FilledOf},
      {"Shape", CountOf},
      {"Size", CountOf},
      {"ArgMax", CountOf},
      {"ArgMin", CountOf},
      {"ReduceSum", ReduceSumOf},
      {"ReduceMean", ReduceMeanOf},
      {"ReduceMax", ReduceExtremeOf},
      {"ReduceMin", ReduceExtremeOf},
      {"GlobalAveragePool", GlobalAverageOf},
      {"GlobalMaxPool", GlobalMaxOf},
      {"AveragePool", AveragePoolOf},
      {"MaxPool", MaxPoolOf},
      {"CumSum", CumSumOf},
      {"MatMul", MatMulOf},
      {"Gemm", GemmOf},
      {"Conv", PlainConvOf},
      {"ConvTranspose", TransposedConvOf},
      {"Softmax", SoftmaxOf},
      {"LogSoftmax", LogSoftmaxOf},
      {"LayerNormalization", NormalizedRows},
      {"RMSNormalization", NormalizedRows},
      {"InstanceNormalization", NormalizedChannels},
      {"BatchNormalization", BatchNormOf},
  };
  return table;
}

}  // namespace

Interval IntervalOfOperator(absl::string_view op, const model::AttributeMap& attributes,
                            std::span<const FactInput> inputs, const model::TensorType& output) {
  const auto row = Transfers().find(op);
  if (row == Transfers().end()) return AnythingOf(output.dtype);
  // The element type is not known yet and may turn out to be any.
  if (!model::IsComputable(output.dtype)) return {};
  return row->second(Call{attributes, inputs, output});
}

}  // namespace quotient::domain
