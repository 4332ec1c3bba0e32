// Element-wise operators on other types than floats, on several types, or with more than two
// operands.

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/kernels/cuda/source/functions.h"
#include "core/kernels/cuda/source/pointwise.h"
#include "core/kernels/cuda/source/prelude.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/unary_call.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;
using ops::UnaryFunction;

// $0 and $1 are the operands, $2 is the result's type.
struct TypedRow {
  const char* op;
  const char* text;
};

constexpr TypedRow kComparisons[] = {
    {"Equal", "$0 == $1"},
    {"Less", "$0 < $1"},
    {"LessOrEqual", "$0 <= $1"},
    {"Greater", "$0 > $1"},
    {"GreaterOrEqual", "$0 >= $1"},
    {"And", "$0 && $1"},
    {"Or", "$0 || $1"},
    {"Xor", "$0 != $1"},
};

// Arithmetic that wraps.
constexpr TypedRow kIntegerPairs[] = {
    {"Add", "($2)((u64)$0 + (u64)$1)"}, {"Sub", "($2)((u64)$0 - (u64)$1)"},
    {"Mul", "($2)((u64)$0 * (u64)$1)"}, {"Max", "max_of($0, $1)"},
    {"Min", "min_of($0, $1)"},          {"Div", "divide($0, $1)"},
};

// A divisor of zero, which is an error of the data, gives zero. A divisor of -1 is special because
// the lowest number divided by it overflows.
constexpr char kIntegerDivision[] = R"(
template <typename T>
__device__ inline bool is_minus_one(T b) { return (T)-1 < (T)0 && b == (T)-1; }
template <typename T>
__device__ inline T divide(T a, T b) {
  if (b == 0) return 0;
  return is_minus_one(b) ? (T)(0 - (u64)a) : (T)(a / b);
}
template <typename T>
__device__ inline T truncating_mod(T a, T b) {
  return b == 0 || is_minus_one(b) ? (T)0 : (T)(a % b);
}
template <typename T>
__device__ inline T floor_mod(T a, T b) {
  const T remainder = truncating_mod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? (T)(remainder + b) : remainder;
}
)";

// $0 is the operand, $1 is its type.
struct FunctionRow {
  UnaryFunction function;
  const char* text;
};

constexpr FunctionRow kIntegerFunctions[] = {
    {UnaryFunction::kNeg, "($1)(0 - (u64)$0)"},
    {UnaryFunction::kAbs, "$0 < 0 ? ($1)(0 - (u64)$0) : $0"},
    {UnaryFunction::kRelu, "$0 < 0 ? ($1)0 : $0"},
    {UnaryFunction::kSign, "($1)(($0 > 0) - ($0 < 0))"},
};

constexpr TypedRow kDoublePairs[] = {
    {"Add", "$0 + $1"}, {"Sub", "$0 - $1"},        {"Mul", "$0 * $1"},
    {"Div", "$0 / $1"}, {"Max", "max_of($0, $1)"}, {"Min", "min_of($0, $1)"},
};

constexpr FunctionRow kDoubleFunctions[] = {
    {UnaryFunction::kNeg, "-$0"},
    {UnaryFunction::kAbs, "fabs($0)"},
    {UnaryFunction::kSqrt, "sqrt($0)"},
    {UnaryFunction::kExp, "exp($0)"},
    {UnaryFunction::kLog, "log($0)"},
    {UnaryFunction::kSin, "sin($0)"},
    {UnaryFunction::kCos, "cos($0)"},
    {UnaryFunction::kErf, "erf($0)"},
    {UnaryFunction::kTanh, "tanh($0)"},
    {UnaryFunction::kFloor, "floor($0)"},
    {UnaryFunction::kCeil, "ceil($0)"},
    {UnaryFunction::kRound, "rint($0)"},
    {UnaryFunction::kReciprocal, "1.0 / $0"},
    {UnaryFunction::kRelu, "$0 < 0 ? 0.0 : $0"},
    {UnaryFunction::kSigmoid, "1.0 / (1.0 + exp(-$0))"},
};

template <size_t n>
std::optional<std::string> FindRow(const TypedRow (&rows)[n], absl::string_view op,
                                   absl::string_view a, absl::string_view b,
                                   absl::string_view type) {
  for (const TypedRow& row : rows) {
    if (op == row.op) return absl::Substitute(row.text, a, b, type);
  }
  return std::nullopt;
}

// The expression of the spec's function of one operand of that type.
template <size_t n>
std::optional<std::string> FunctionText(const FunctionRow (&rows)[n], const KernelSpec& spec,
                                        absl::string_view type) {
  const std::optional<UnaryCall> call = UnaryCallOf(spec.op, spec.attributes);
  for (const FunctionRow& row : rows) {
    if (call && call->function == row.function) return absl::Substitute(row.text, "v0", type);
  }
  return std::nullopt;
}

// The expression of an operator with two operands of one type.
std::optional<std::string> PairText(absl::string_view op, DType dtype, absl::string_view a,
                                    absl::string_view b) {
  if (const auto comparison = FindRow(kComparisons, op, a, b, "")) return comparison;
  if (IsSingleFloat(dtype)) return BinaryText(op, a, b);
  if (dtype == DType::kFloat64) return FindRow(kDoublePairs, op, a, b, "");
  if (model::IsInteger(dtype)) return FindRow(kIntegerPairs, op, a, b, ComputedType(dtype));
  return std::nullopt;
}

// Clip of integers. Bounds saturate.
std::optional<std::string> IntegerClipText(const KernelSpec& spec) {
  const DType dtype = spec.inputs[0].type.dtype;
  if (dtype != DType::kInt32 && dtype != DType::kInt64) return std::nullopt;
  const std::string type = ComputedType(dtype);
  std::string x = "v0";
  for (const auto& [name, call] : {std::pair{"min", "max_of"}, std::pair{"max", "min_of"}}) {
    if (!spec.attributes.Has(name)) continue;
    const double bound = spec.attributes.GetFloat(name, 0);
    // A bound that no double represents exactly is left to the reference.
    if (bound < -9e15 || bound > 9e15) return std::nullopt;
    x = absl::Substitute("$0($1, convert<$2>($3ll))", call, x, type, static_cast<int64_t>(bound));
  }
  return x;
}

// An infinity minus itself is NaN.
std::string IsInfText(const KernelSpec& spec) {
  const bool positive = spec.attributes.GetInt("detect_positive", 1) != 0;
  const bool negative = spec.attributes.GetInt("detect_negative", 1) != 0;
  if (!positive && !negative) return "false";
  const char* const sign = positive && negative ? "" : positive ? " && v0 > 0" : " && v0 < 0";
  return absl::StrCat("v0 == v0 && v0 - v0 != 0", sign);
}

std::optional<std::string> OneOperandText(const KernelSpec& spec) {
  const DType dtype = spec.inputs[0].type.dtype;
  const absl::string_view op = spec.op;
  if (op == "Not") return "!v0";
  if (op == "IsNaN") return "v0 != v0";
  if (op == "IsInf") return IsInfText(spec);
  if (IsSingleFloat(dtype)) return UnaryText(op, spec.attributes, "v0");
  if (dtype == DType::kFloat64) return FunctionText(kDoubleFunctions, spec, "double");
  if (!model::IsInteger(dtype)) return std::nullopt;
  if (op == "Clip") return IntegerClipText(spec);
  return FunctionText(kIntegerFunctions, spec, ComputedType(dtype));
}

std::optional<std::string> ModText(const KernelSpec& spec) {
  const DType dtype = spec.inputs[0].type.dtype;
  if (dtype == DType::kFloat64) return std::nullopt;
  if (spec.attributes.GetInt("fmod", 0) == 0) return "floor_mod(v0, v1)";
  return IsSingleFloat(dtype) ? "fmodf(v0, v1)" : "truncating_mod(v0, v1)";
}

// Max, Min, Sum and Mean of any number of operands of one type.
std::optional<std::string> ManyOperandsText(const KernelSpec& spec) {
  const DType dtype = spec.inputs[0].type.dtype;
  const std::string op = spec.op == "Sum" || spec.op == "Mean" ? "Add" : spec.op;
  if (op != "Add" && op != "Max" && op != "Min") return std::nullopt;
  std::string text = "v0";
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    const auto next = PairText(op, dtype, absl::StrCat("(", text, ")"), absl::StrCat("v", i));
    if (!next) return std::nullopt;
    text = *next;
  }
  if (spec.op == "Mean") text = absl::Substitute("($0) / $1", text, spec.inputs.size());
  return text;
}

// An expression for the result in the output's computed or stored type.
std::optional<std::string> ResultText(const KernelSpec& spec) {
  const absl::string_view op = spec.op;
  if (op == "Cast" || op == "CastLike") return "convert<R>(v0)";
  if (op == "Where") return "v0 ? v1 : v2";
  const DType dtype = spec.inputs[0].type.dtype;
  if (op == "Pow" && spec.inputs.size() == 2 && model::IsFloat(dtype)) {
    // The exponent may have any type.
    return dtype == DType::kFloat64 ? "pow(v0, (double)v1)" : "powf(v0, (float)v1)";
  }
  const bool one_type = std::all_of(spec.inputs.begin(), spec.inputs.end(),
                                    [&](const Operand& o) { return o.type.dtype == dtype; });
  if (!one_type) return std::nullopt;
  if (op == "Mod" && spec.inputs.size() == 2) return ModText(spec);
  if (op == "Sum" || op == "Mean" || op == "Max" || op == "Min") return ManyOperandsText(spec);
  if (spec.inputs.size() == 1) return OneOperandText(spec);
  if (spec.inputs.size() == 2) return PairText(op, dtype, "v0", "v1");
  return std::nullopt;
}

}  // namespace

std::optional<Program> MakeTypedProgram(const KernelSpec& spec) {
  if (spec.outputs.size() != 1 || spec.inputs.empty() || !spec.epilogue.empty()) {
    return std::nullopt;
  }
  for (const Operand& input : spec.inputs) {
    if (!model::IsComputable(input.type.dtype))
      return std::nullopt;  // Also rejects inputs left out.
  }
  const DType result = spec.outputs[0].type.dtype;
  const std::optional<std::string> text = ResultText(spec);
  if (!text || !model::IsComputable(result)) return std::nullopt;
  const bool casts = spec.op == "Cast" || spec.op == "CastLike";
  ProgramWriter writer(spec, "typed");
  std::vector<PointwiseInput> inputs;
  for (size_t i = 0; i < (casts ? 1 : spec.inputs.size()); ++i) {
    inputs.push_back({spec.inputs[i], writer.Operand(static_cast<int>(i))});
  }
  const std::string result_type = casts ? StoredType(result) : ComputedType(result);
  const std::string functions = absl::StrCat(kMathPrelude, kConvertPrelude, kIntegerDivision);
  AddPointwise({.kernel = "typed",
                .inputs = std::move(inputs),
                .output = spec.outputs[0],
                .output_buffer = writer.Output(0),
                .functions = functions,
                .body = absl::StrCat("  return ", *text, ";\n"),
                .result_type = result_type},
               writer);
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
