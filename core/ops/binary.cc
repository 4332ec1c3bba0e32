// Element-wise arithmetic of several tensors, with broadcasting.

#include <algorithm>
#include <cmath>

#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/certain.h"
#include "core/ops/dims.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::DType;
using model::Tensor;
using model::TensorType;

using Outputs = absl::StatusOr<std::vector<Tensor>>;

// --- Inference ---

template <Domain domain>
absl::StatusOr<InferResult> InferArithmetic(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, 0, context.inputs.size()));
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(domain, dtype));
  return InferBroadcast(context, dtype);
}

using CombineElements = Element (*)(const Element& a, const Element& b);

// Like InferArithmetic; also computes known elements for two inputs.
template <CombineElements combine>
absl::StatusOr<InferResult> InferWithElements(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(InferResult result, InferArithmetic<Domain::kNumeric>(context));
  if (context.inputs.size() == 2) {
    result.elements = ZipElements(context, result.types[0], combine);
  }
  return result;
}

Element MaxElements(const Element& a, const Element& b) {
  if (a == b && !a.is_unknown()) return a;
  if (!a.is_number() || !b.is_number() || !AreOrdered(a.number(), b.number())) return Element();
  return MaxOf(a.number(), b.number());
}

Element MinElements(const Element& a, const Element& b) {
  if (a == b && !a.is_unknown()) return a;
  if (!a.is_number() || !b.is_number() || !AreOrdered(a.number(), b.number())) return Element();
  return MinOf(a.number(), b.number());
}

// --- Evaluation ---

template <auto f>
Outputs EvaluatePair(const EvaluateContext& context) {
  return MapNumbers<2>(context, f);
}

constexpr auto kAdd = []<typename T>(T a, T b) { return WrapAdd(a, b); };
constexpr auto kSub = []<typename T>(T a, T b) { return WrapSub(a, b); };
constexpr auto kMul = []<typename T>(T a, T b) { return WrapMul(a, b); };
constexpr auto kPRelu = []<typename T>(T x, T slope) { return x < 0 ? WrapMul(slope, x) : x; };

// Integers are truncated. A divisor of -1 is special because the lowest number divided by it
// overflows.
constexpr auto kDiv = []<typename T>(T a, T b) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    if (b == -1) return WrapSub<T>(0, a);
  }
  return static_cast<T>(a / b);
};

// The remainder with the sign of the divisor, like Python's %.
constexpr auto kFloorMod = []<typename T>(T a, T b) {
  if constexpr (std::is_same_v<T, double>) {
    const double remainder = std::fmod(a, b);
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  } else if constexpr (std::is_signed_v<T>) {
    const T remainder = b == -1 ? 0 : a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  } else {
    return a % b;
  }
};

// The remainder with the sign of the dividend, like C's fmod.
constexpr auto kTruncatingMod = []<typename T>(T a, T b) {
  if constexpr (std::is_same_v<T, double>)
    return std::fmod(a, b);
  else if constexpr (std::is_signed_v<T>)
    return b == -1 ? T{0} : static_cast<T>(a % b);
  else
    return a % b;
};

// Doubles hold all integers up to this.
constexpr double kExactInDouble = 0x1p53;

bool IsExactInDouble(const Tensor& integers) {
  const std::vector<double> values = integers.AsDoubles();
  // A larger integer may be rounded to the bound itself.
  return std::ranges::all_of(values, [](double value) { return std::abs(value) < kExactInDouble; });
}

// Fails with FAILED_PRECONDITION if an integer divisor is zero.
absl::Status CheckDivisor(const Tensor& divisor) {
  if (model::IsFloat(divisor.dtype())) return absl::OkStatus();
  for (int64_t i = 0; i < divisor.elements(); ++i) {
    if (divisor.GetInt(i) == 0) {
      return absl::FailedPreconditionError("division of an integer by zero");
    }
  }
  return absl::OkStatus();
}

Outputs EvaluateDiv(const EvaluateContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CheckDivisor(*context.inputs[1]));
  return MapNumbers<2>(context, kDiv);
}

Outputs EvaluateMod(const EvaluateContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CheckDivisor(*context.inputs[1]));
  if (context.attributes.GetInt("fmod", 0) != 0) return MapNumbers<2>(context, kTruncatingMod);
  return MapNumbers<2>(context, kFloorMod);
}

// ONNX Runtime computes the remainder with the sign of the dividend in doubles, of integers, too.
bool ModIsCertain(const EvaluateContext& context, std::span<const Tensor>) {
  const DType dtype = context.inputs[0]->dtype();
  const bool is_wide = !model::IsFloat(dtype) && model::DTypeBits(dtype) == 64;
  if (!is_wide || context.attributes.GetInt("fmod", 0) == 0) return true;
  return IsExactInDouble(*context.inputs[0]) && IsExactInDouble(*context.inputs[1]);
}

// Combines any number of inputs: `f` adds one to the result so far, `finish` completes it.
template <typename Storage, typename T, typename F, typename Finish>
Outputs FoldInputsAs(const EvaluateContext& context, const F& f, const Finish& finish) {
  const auto compute = [&](std::span<const std::span<const Storage>> operands,
                           std::span<Storage> out) {
    std::copy(operands[0].begin(), operands[0].end(), out.begin());
    for (size_t operand = 1; operand < operands.size(); ++operand) {
      for (size_t i = 0; i < out.size(); ++i) {
        out[i] =
            static_cast<Storage>(f(static_cast<T>(out[i]), static_cast<T>(operands[operand][i])));
      }
    }
    finish(out);
  };
  std::vector<Tensor> outputs;
  outputs.push_back(EvaluateElementwise<Storage>(context.inputs, context.output_types[0],
                                                 context.threads, compute));
  return outputs;
}

template <auto f>
Outputs EvaluateAny(const EvaluateContext& context) {
  const auto as_is = [](const auto&) {};
  const DType dtype = context.inputs[0]->dtype();
  if (model::IsFloat(dtype)) return FoldInputsAs<double, double>(context, f, as_is);
  if (dtype == DType::kUint64) return FoldInputsAs<int64_t, uint64_t>(context, f, as_is);
  return FoldInputsAs<int64_t, int64_t>(context, f, as_is);
}

Outputs EvaluateMean(const EvaluateContext& context) {
  const double count = static_cast<double>(context.inputs.size());
  return FoldInputsAs<double, double>(context, kAdd, [count](std::span<double> out) {
    for (double& value : out) value /= count;
  });
}

constexpr auto kMax = []<typename T>(T a, T b) { return MaxOf(a, b); };
constexpr auto kMin = []<typename T>(T a, T b) { return MinOf(a, b); };

// --- Facts ---

Interval BoundsOfAdd(const BoundsContext& context) {
  return InType(context.dtype(), Sum(context.in(0), context.in(1)));
}
Interval BoundsOfSub(const BoundsContext& context) {
  return InType(context.dtype(), Sum(context.in(0), Negative(context.in(1))));
}

Interval BoundsOfMul(const BoundsContext& context) {
  Interval product = Product(context.in(0), context.in(1));
  if (context.same_operands) {  // A square.
    product.low = 0;
    product.may_be_nan = context.in(0).may_be_nan;
  }
  return InType(context.dtype(), product);
}

// Integers truncate, and division by zero is an error.
Interval BoundsOfDiv(const BoundsContext& context) {
  const Interval x = context.in(0), divisor = context.in(1);
  if (model::IsFloat(context.dtype())) return InType(context.dtype(), Quotient(x, divisor));
  const double size = x.magnitude();
  const bool stays = x.nonnegative() && divisor.nonnegative();
  return InType(context.dtype(), {stays ? 0 : -size, size, false});
}

Interval BoundsOfPRelu(const BoundsContext& context) {
  const Interval x = context.in(0);
  const Interval below = Product(Clamped(x, -Interval::kInfinity, 0), context.in(1));
  return InType(context.dtype(), Hull(Clamped(x, 0, Interval::kInfinity), below));
}

template <bool largest>
Interval BoundsOfExtreme(const BoundsContext& context) {
  const auto pick = [](double a, double b) { return largest ? std::max(a, b) : std::min(a, b); };
  Interval result = context.in(0);
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    const Interval next = context.in(i);
    result = {pick(result.low, next.low), pick(result.high, next.high),
              result.may_be_nan || next.may_be_nan};
  }
  return result;
}

Interval BoundsOfSum(const BoundsContext& context) {
  Interval result = context.in(0);
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    result = InType(context.dtype(), Sum(result, context.in(i)), kFunctionSlack);
  }
  return result;
}

// The sum is computed first.
Interval BoundsOfMean(const BoundsContext& context) {
  const double count = std::max<double>(1, static_cast<double>(context.inputs.size()));
  return InType(context.dtype(), Quotient(BoundsOfSum(context), {count, count, false}),
                kFunctionSlack);
}

const Requirement kNonzeroDivisor = {1, Requirement::Kind::kNonzero};

// --- Rows ---

bool HasAllInputs(const model::Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [](model::ValueId input) { return input.valid(); });
}

// A row that takes one input or more.
OpDef AnyRow(const char* name, int since_opset, InferFn infer, EvaluateFn evaluate) {
  OpDef row = PairRow(name, since_opset, infer, evaluate, /*commutative=*/true);
  row.min_inputs = 1;
  row.max_inputs = -1;
  row.accepts = HasAllInputs;
  return row;
}

// The largest or smallest of each element.
OpDef ExtremeRow(const char* name, InferFn infer, EvaluateFn evaluate, BoundsFn bounds,
                 AtInfinity at_infinity) {
  OpDef row = Fusing(Fusion::kBehindEither, AnyRow(name, 8, infer, evaluate));
  row.exact = true;
  row.numerics = {.bounds = bounds, .at_infinity = at_infinity};
  row.is_certain = IsCertainIfOrdered;
  return row;
}

// The order in which several inputs are summed is not defined.
OpDef SumRow(const char* name, EvaluateFn evaluate, BoundsFn bounds) {
  OpDef row = AnyRow(name, 8, InferArithmetic<Domain::kFloat>, evaluate);
  row.numerics.bounds = bounds;
  row.is_certain = IsCertainIfTame;
  return row;
}

// Sums and products, which keep infinities.
template <auto f, auto combine>
OpDef ArithmeticRow(const char* name, bool commutative, BoundsFn bounds) {
  OpDef row = Fusing(Fusion::kBehindEither,
                     PairRow(name, 7, InferWithElements<combine>, EvaluatePair<f>, commutative));
  row.numerics = {.bounds = bounds, .at_infinity = AtInfinity::kStays};
  return row;
}

OpDef DivRow() {
  OpDef row = Fusing(Fusion::kBehind,
                     PairRow("Div", 7, InferWithElements<DivElements>, EvaluateDiv, false));
  row.numerics = {.bounds = BoundsOfDiv,
                  .at_infinity = AtInfinity::kStays,
                  .singular_at_zero = true,
                  .is_at_pole = HasZeroAt<1>,
                  .requirements = {kNonzeroDivisor}};
  return row;
}

OpDef PReluRow() {
  OpDef row = PairRow("PRelu", 7, InferArithmetic<Domain::kNumeric>, EvaluatePair<kPRelu>, false);
  row.numerics.bounds = BoundsOfPRelu;
  return row;
}

OpDef ModRow() {
  OpDef row = PairRow("Mod", 10, InferArithmetic<Domain::kNumeric>, EvaluateMod, false);
  row.exact = true;
  row.numerics = {.step = true, .requirements = {kNonzeroDivisor}};
  row.attributes = {{"fmod", AttributeDef::Kind::kInt, int64_t{0}}};
  row.is_certain = ModIsCertain;
  return row;
}

}  // namespace

std::span<const OpDef> BinaryOps() {
  static const auto& rows = *new std::vector<OpDef>{
      ArithmeticRow<kAdd, AddElements>("Add", /*commutative=*/true, BoundsOfAdd),
      ArithmeticRow<kSub, SubElements>("Sub", /*commutative=*/false, BoundsOfSub),
      ArithmeticRow<kMul, MulElements>("Mul", /*commutative=*/true, BoundsOfMul),
      DivRow(),
      PReluRow(),
      ModRow(),
      ExtremeRow("Max", InferWithElements<MaxElements>, EvaluateAny<kMax>, BoundsOfExtreme<true>,
                 AtInfinity::kEndsIfBelow),
      ExtremeRow("Min", InferWithElements<MinElements>, EvaluateAny<kMin>, BoundsOfExtreme<false>,
                 AtInfinity::kEnds),
      SumRow("Sum", EvaluateAny<kAdd>, BoundsOfSum),
      SumRow("Mean", EvaluateMean, BoundsOfMean),
  };
  return rows;
}

}  // namespace quotient::ops
