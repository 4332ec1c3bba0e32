// Element-wise operations of the emulated libraries.

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/cuda/host_operations.h"

namespace quotient::kernels::cuda::host {
namespace {

double Result(const DnnNode& node, double a, double b) {
  switch (node.mode) {
    case DnnMode::kIdentity:
      return a;
    case DnnMode::kAdd:
      return a + b;
    case DnnMode::kSub:
      return a - b;
    case DnnMode::kMul:
      return a * b;
    case DnnMode::kDiv:
      return a / b;
    case DnnMode::kMax:
      return std::max(a, b);
    case DnnMode::kMin:
      return std::min(a, b);
    case DnnMode::kRelu:
      return std::max(a, 0.0);
    case DnnMode::kLeakyRelu:
      return a < 0 ? node.slope * a : a;
    case DnnMode::kSigmoid:
      return 1 / (1 + std::exp(-a));
    case DnnMode::kTanh:
      return std::tanh(a);
    case DnnMode::kGeluErf:
      return a / 2 * (1 + std::erf(a / std::sqrt(2.0)));
    case DnnMode::kGeluTanh:
      return a / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (a + 0.044715 * a * a * a)));
    case DnnMode::kNeg:
      return -a;
    case DnnMode::kAbs:
      return std::abs(a);
    case DnnMode::kSqrt:
      return std::sqrt(a);
    case DnnMode::kExp:
      return std::exp(a);
    case DnnMode::kPow:
      return std::pow(a, b);
    case DnnMode::kSwish:
      return a / (1 + std::exp(-a));
    case DnnMode::kElu:
      return a > 0 ? a : std::expm1(a);
    case DnnMode::kLog:
      return std::log(a);
    case DnnMode::kRsqrt:
      return 1 / std::sqrt(a);
    case DnnMode::kErf:
      return std::erf(a);
    case DnnMode::kSin:
      return std::sin(a);
    case DnnMode::kCos:
      return std::cos(a);
    case DnnMode::kFloor:
      return std::floor(a);
    case DnnMode::kCeil:
      return std::ceil(a);
    case DnnMode::kReciprocal:
      return 1 / a;
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace

void Apply(const DnnNode& node, Inputs inputs, Values& out) {
  ForEach(out.dims, [&](std::span<const int64_t> index) {
    const double a = inputs[0]->at(index);
    const double b = inputs.size() > 1 ? inputs[1]->at(index) : 0;
    out.at(index) = Result(node, a, b);
  });
}

}  // namespace quotient::kernels::cuda::host
