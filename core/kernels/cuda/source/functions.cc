#include "core/kernels/cuda/source/functions.h"

#include <limits>

#include "absl/strings/substitute.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/fusion.h"

namespace quotient::kernels::cuda {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// $0 is the operand; $1 and $2 are the named attributes, or their defaults.
struct UnaryRow {
  const char* op;
  const char* text;
  const char* first = nullptr;
  double first_default = 0;
  const char* second = nullptr;
  double second_default = 0;
};

constexpr UnaryRow kUnaryRows[] = {
    {"Relu", "relu($0)"},
    {"Sigmoid", "sigmoid($0)"},
    {"Tanh", "tanhf($0)"},
    {"Neg", "-($0)"},
    {"Abs", "fabsf($0)"},
    {"Sqrt", "sqrtf($0)"},
    {"Exp", "expf($0)"},
    {"Log", "logf($0)"},
    {"Erf", "erff($0)"},
    {"Sin", "sinf($0)"},
    {"Cos", "cosf($0)"},
    {"Floor", "floorf($0)"},
    {"Ceil", "ceilf($0)"},
    {"HardSwish", "hard_swish($0)"},
    {"Reciprocal", "1.0f / ($0)"},
    {"LeakyRelu", "leaky_relu($0, $1)", "alpha", 0.01},
    {"Clip", "clip($0, $1, $2)", "min", -kInfinity, "max", kInfinity},
    {"HardSigmoid", "hard_sigmoid($0, $1, $2)", "alpha", 0.2, "beta", 0.5},
    {"Round", "rintf($0)"},
    {"Sign", "sign($0)"},
    {"Tan", "tanf($0)"},
    {"Asin", "asinf($0)"},
    {"Acos", "acosf($0)"},
    {"Atan", "atanf($0)"},
    {"Sinh", "sinhf($0)"},
    {"Cosh", "coshf($0)"},
    {"Asinh", "asinhf($0)"},
    {"Acosh", "acoshf($0)"},
    {"Atanh", "atanhf($0)"},
    {"Softplus", "softplus($0)"},
    {"Softsign", "softsign($0)"},
    {"Mish", "mish($0)"},
    {"Elu", "elu($0, $1)", "alpha", 1},
    {"Celu", "celu($0, $1)", "alpha", 1},
    {"Selu", "selu($0, $1, $2)", "alpha", 1.67326319217681884765625, "gamma",
     1.05070102214813232421875},
    {"ThresholdedRelu", "thresholded_relu($0, $1)", "alpha", 1},
    {"Swish", "swish($0, $1)", "alpha", 1},
};

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
  if (op == "Gelu") {
    const bool tanh = attributes.GetString("approximate", "none") == "tanh";
    return absl::Substitute(tanh ? "gelu_tanh($0)" : "gelu_erf($0)", x);
  }
  if (op == "Pow") {
    const double exponent = attributes.GetFloat(kExponentAttribute, 0);
    if (exponent == 2) return absl::Substitute("$0 * $0", x);
    if (exponent == 3) return absl::Substitute("$0 * $0 * $0", x);
    if (exponent == 0.5) return absl::Substitute("sqrtf($0)", x);
    return std::nullopt;
  }
  for (const UnaryRow& row : kUnaryRows) {
    if (op != row.op) continue;
    const auto attribute = [&](const char* name, double otherwise) {
      return name == nullptr ? "" : FloatLiteral(attributes.GetFloat(name, otherwise));
    };
    return absl::Substitute(row.text, x, attribute(row.first, row.first_default),
                            attribute(row.second, row.second_default));
  }
  return std::nullopt;
}

std::optional<std::string> BinaryText(absl::string_view op, absl::string_view a,
                                      absl::string_view b) {
  for (const BinaryRow& row : kBinaryRows) {
    if (op == row.op) return absl::Substitute(row.text, a, b);
  }
  return std::nullopt;
}

}  // namespace quotient::kernels::cuda
