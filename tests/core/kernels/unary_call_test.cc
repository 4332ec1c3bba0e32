// Which function a node with one operand computes, and by which numbers.

#include "core/kernels/unary_call.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/kernels/fusion.h"

namespace quotient::kernels {
namespace {

using ops::UnaryFunction;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

UnaryCall CallOf(absl::string_view op, const model::AttributeMap& attributes = {}) {
  const std::optional<UnaryCall> call = UnaryCallOf(op, attributes);
  EXPECT_TRUE(call.has_value()) << op;
  return call.value_or(UnaryCall{UnaryFunction::kNone});
}

void ExpectCall(const UnaryCall& call, UnaryFunction function, double first, double second) {
  EXPECT_EQ(call.function, function);
  EXPECT_EQ(call.first, first);
  EXPECT_EQ(call.second, second);
}

TEST(UnaryCallTest, NumbersAreAttributesOrTheDefaultsOfTheRow) {
  ExpectCall(CallOf("Exp"), UnaryFunction::kExp, 0, 0);
  ExpectCall(CallOf("LeakyRelu"), UnaryFunction::kLeakyRelu, 0.01f, 0);
  ExpectCall(CallOf("Selu"), UnaryFunction::kSelu, 1.67326319217681884765625,
             1.05070102214813232421875);
  ExpectCall(CallOf("HardSigmoid", {{"beta", 0.25}}), UnaryFunction::kHardSigmoid, 0.2f, 0.25);
}

TEST(UnaryCallTest, BoundsThatAreLeftOutAreInfinite) {
  ExpectCall(CallOf("Clip"), UnaryFunction::kClip, -kInfinity, kInfinity);
  ExpectCall(CallOf("Clip", {{"min", 1.0}}), UnaryFunction::kClip, 1, kInfinity);
  ExpectCall(CallOf("Clip", {{"max", 6.0}}), UnaryFunction::kClip, -kInfinity, 6);
}

TEST(UnaryCallTest, AttributesChooseTheFunction) {
  ExpectCall(CallOf("Gelu"), UnaryFunction::kGeluErf, 0, 0);
  ExpectCall(CallOf("Gelu", {{"approximate", std::string("tanh")}}), UnaryFunction::kGeluTanh, 0,
             0);
  ExpectCall(CallOf("Pow", {{kExponentAttribute, 2.0}}), UnaryFunction::kSquare, 0, 0);
  ExpectCall(CallOf("Pow", {{kExponentAttribute, 3.0}}), UnaryFunction::kCube, 0, 0);
  ExpectCall(CallOf("Pow", {{kExponentAttribute, 0.5}}), UnaryFunction::kSqrt, 0, 0);
}

TEST(UnaryCallTest, OtherOperatorsHaveNone) {
  for (const char* op : {"Pow", "Add", "Not", "Softmax", "Reorder", "Mystery"}) {
    EXPECT_FALSE(UnaryCallOf(op, {}).has_value()) << op;
  }
}

}  // namespace
}  // namespace quotient::kernels
