#include "core/kernels/cuda/source/functions.h"

#include "absl/strings/substitute.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/unary_call.h"

namespace quotient::kernels::cuda {
namespace {

using ops::UnaryFunction;

// $0 is the operand; $1 and $2 are the numbers of the call.
const char* TextOf(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kNone:
      break;
    case UnaryFunction::kAbs:
      return "fabsf($0)";
    case UnaryFunction::kAcos:
      return "acosf($0)";
    case UnaryFunction::kAcosh:
      return "acoshf($0)";
    case UnaryFunction::kAsin:
      return "asinf($0)";
    case UnaryFunction::kAsinh:
      return "asinhf($0)";
    case UnaryFunction::kAtan:
      return "atanf($0)";
    case UnaryFunction::kAtanh:
      return "atanhf($0)";
    case UnaryFunction::kCeil:
      return "ceilf($0)";
    case UnaryFunction::kCelu:
      return "celu($0, $1)";
    case UnaryFunction::kClip:
      return "clip($0, $1, $2)";
    case UnaryFunction::kCos:
      return "cosf($0)";
    case UnaryFunction::kCosh:
      return "coshf($0)";
    case UnaryFunction::kCube:
      return "$0 * $0 * $0";
    case UnaryFunction::kElu:
      return "elu($0, $1)";
    case UnaryFunction::kErf:
      return "erff($0)";
    case UnaryFunction::kExp:
      return "expf($0)";
    case UnaryFunction::kFloor:
      return "floorf($0)";
    case UnaryFunction::kGeluErf:
      return "gelu_erf($0)";
    case UnaryFunction::kGeluTanh:
      return "gelu_tanh($0)";
    case UnaryFunction::kHardSigmoid:
      return "hard_sigmoid($0, $1, $2)";
    case UnaryFunction::kHardSwish:
      return "hard_swish($0)";
    case UnaryFunction::kLeakyRelu:
      return "leaky_relu($0, $1)";
    case UnaryFunction::kLog:
      return "logf($0)";
    case UnaryFunction::kMish:
      return "mish($0)";
    case UnaryFunction::kNeg:
      return "-($0)";
    case UnaryFunction::kReciprocal:
      return "1.0f / ($0)";
    case UnaryFunction::kRelu:
      return "relu($0)";
    case UnaryFunction::kRound:
      return "rintf($0)";
    case UnaryFunction::kSelu:
      return "selu($0, $1, $2)";
    case UnaryFunction::kSigmoid:
      return "sigmoid($0)";
    case UnaryFunction::kSign:
      return "sign($0)";
    case UnaryFunction::kSin:
      return "sinf($0)";
    case UnaryFunction::kSinh:
      return "sinhf($0)";
    case UnaryFunction::kSoftplus:
      return "softplus($0)";
    case UnaryFunction::kSoftsign:
      return "softsign($0)";
    case UnaryFunction::kSqrt:
      return "sqrtf($0)";
    case UnaryFunction::kSquare:
      return "$0 * $0";
    case UnaryFunction::kSwish:
      return "swish($0, $1)";
    case UnaryFunction::kTan:
      return "tanf($0)";
    case UnaryFunction::kTanh:
      return "tanhf($0)";
    case UnaryFunction::kThresholdedRelu:
      return "thresholded_relu($0, $1)";
  }
  return "";
}

struct BinaryRow {
  const char* op;
  const char* text;
};

constexpr BinaryRow kBinaryRows[] = {
    {"Add", "$0 + $1"},      {"Sub", "$0 - $1"},         {"Mul", "$0 * $1"},
    {"Div", "$0 / $1"},      {"Max", "max_of($0, $1)"},  {"Min", "min_of($0, $1)"},
    {"Pow", "powf($0, $1)"}, {"PRelu", "prelu($0, $1)"},
};

}  // namespace

std::optional<std::string> UnaryText(absl::string_view op, const model::AttributeMap& attributes,
                                     absl::string_view x) {
  const std::optional<UnaryCall> call = UnaryCallOf(op, attributes);
  if (!call) return std::nullopt;
  return absl::Substitute(TextOf(call->function), x, FloatLiteral(call->first),
                          FloatLiteral(call->second));
}

std::optional<std::string> BinaryText(absl::string_view op, absl::string_view a,
                                      absl::string_view b) {
  for (const BinaryRow& row : kBinaryRows) {
    if (op == row.op) return absl::Substitute(row.text, a, b);
  }
  return std::nullopt;
}

}  // namespace quotient::kernels::cuda
