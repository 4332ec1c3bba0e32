// Comparisons and boolean operators, with broadcasting.

#include "core/base/status_macros.h"
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

// The certain result of comparing two elements. A symbol is a dimension, so it is never negative.
template <auto compare>
Element CompareElements(const Element& a, const Element& b) {
  if (a.is_number() && b.is_number()) return compare(a.number(), b.number());
  if (a.is_symbol() && a == b) return compare(int64_t{0}, int64_t{0});
  // Compared with a negative number, every symbol behaves like zero.
  if (a.is_symbol() && b.is_number() && b.number() < 0) return compare(int64_t{0}, b.number());
  if (b.is_symbol() && a.is_number() && a.number() < 0) return compare(a.number(), int64_t{0});
  return Element();
}

template <auto combine>
Element CombineBools(const Element& a, const Element& b) {
  if (!a.is_number() || !b.is_number()) return Element();
  return combine(a.number() != 0, b.number() != 0);
}

using CombineElements = Element (*)(const Element& a, const Element& b);

template <Domain domain, CombineElements combine>
absl::StatusOr<InferResult> InferPredicate(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, 0, 2));
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(domain, dtype));
  QUOTIENT_ASSIGN_OR_RETURN(std::optional<model::Shape> shape, BroadcastInputs(context.inputs));
  if (!shape) return UnknownShape(DType::kBool);
  InferResult result = OneOutput(TensorType(DType::kBool, *std::move(shape)));
  result.elements = ZipElements(context, result.types[0], combine);
  return result;
}

// --- Evaluation ---

template <auto compare>
Outputs EvaluateComparison(const EvaluateContext& context) {
  return MapNumbers<2>(context, compare);
}

template <auto combine>
Outputs EvaluateBools(const EvaluateContext& context) {
  return MapElements<2, int64_t>(context,
                                 [](int64_t a, int64_t b) { return combine(a != 0, b != 0); });
}

constexpr auto kEqual = []<typename T>(T a, T b) { return a == b; };
constexpr auto kLess = []<typename T>(T a, T b) { return a < b; };
constexpr auto kLessOrEqual = []<typename T>(T a, T b) { return a <= b; };
constexpr auto kGreater = []<typename T>(T a, T b) { return a > b; };
constexpr auto kGreaterOrEqual = []<typename T>(T a, T b) { return a >= b; };
constexpr auto kAnd = [](bool a, bool b) { return a && b; };
constexpr auto kOr = [](bool a, bool b) { return a || b; };
constexpr auto kXor = [](bool a, bool b) { return a != b; };

// --- Rows ---

template <Domain domain, auto compare>
OpDef ComparisonRow(const char* name, int since_opset, bool commutative = false) {
  OpDef row = PairRow(name, since_opset, InferPredicate<domain, CompareElements<compare>>,
                      EvaluateComparison<compare>, commutative);
  row.numerics = {.step = true, .at_infinity = AtInfinity::kEnds};
  return row;
}

template <auto combine>
OpDef BoolRow(const char* name) {
  return PairRow(name, 7, InferPredicate<Domain::kBool, CombineBools<combine>>,
                 EvaluateBools<combine>,
                 /*commutative=*/true);
}

}  // namespace

std::span<const OpDef> LogicOps() {
  static const auto& rows = *new std::vector<OpDef>{
      ComparisonRow<Domain::kAny, kEqual>("Equal", 7, /*commutative=*/true),
      ComparisonRow<Domain::kNumeric, kLess>("Less", 7),
      ComparisonRow<Domain::kNumeric, kLessOrEqual>("LessOrEqual", 12),
      ComparisonRow<Domain::kNumeric, kGreater>("Greater", 7),
      ComparisonRow<Domain::kNumeric, kGreaterOrEqual>("GreaterOrEqual", 12),
      BoolRow<kAnd>("And"),
      BoolRow<kOr>("Or"),
      BoolRow<kXor>("Xor"),
  };
  return rows;
}

}  // namespace quotient::ops
