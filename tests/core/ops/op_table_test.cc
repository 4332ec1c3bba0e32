#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/ops/op.h"

namespace quotient::ops {
namespace {

TEST(OpTableTest, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const OpDef* op : AllOps()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_EQ(FindOp(op->name), op);
  }
  EXPECT_GT(names.size(), 80u);
  EXPECT_EQ(FindOp("LSTM"), nullptr);
  EXPECT_EQ(FindOp(""), nullptr);
}

TEST(OpTableTest, RowsAreComplete) {
  for (const OpDef* op : AllOps()) {
    SCOPED_TRACE(op->name);
    EXPECT_NE(op->infer, nullptr);
    EXPECT_NE(op->evaluate, nullptr);
    EXPECT_TRUE(op->max_inputs == -1 || op->max_inputs >= op->min_inputs);
    EXPECT_TRUE(op->max_outputs == -1 || op->max_outputs >= 1);
    EXPECT_GE(op->since_opset, 1);
  }
}

TEST(OpTableTest, ParametersAndAttributesFitTogether) {
  for (const OpDef* op : AllOps()) {
    SCOPED_TRACE(op->name);
    std::set<std::string> known;
    std::set<int> slots;
    for (const AttributeDef& attribute : op->attributes) {
      EXPECT_TRUE(known.insert(attribute.name).second) << attribute.name;
    }
    for (const Parameter& parameter : op->parameters) {
      EXPECT_TRUE(slots.insert(parameter.input).second) << parameter.attribute;
      EXPECT_LT(parameter.input, op->max_inputs);
      known.insert(parameter.attribute);
    }
    for (const char* axis : op->axes) EXPECT_TRUE(known.contains(axis)) << axis;
  }
}

// What fuses is a function of one float, a pair of operands, or a BatchNormalization.
TEST(OpTableTest, FusionFitsTheClass) {
  for (const OpDef* op : AllOps()) {
    SCOPED_TRACE(op->name);
    const bool is_function = op->function != UnaryFunction::kNone;
    if (is_function) EXPECT_EQ(op->op_class, OpClass::kUnary);
    if (op->op_class == OpClass::kUnary) EXPECT_EQ(op->fusion != Fusion::kNone, is_function);
    if (op->fusion == Fusion::kBehindEither) EXPECT_EQ(op->op_class, OpClass::kBinary);
  }
}

TEST(OpTableTest, EachFunctionIsOfOneOperator) {
  std::set<UnaryFunction> functions;
  for (const OpDef* op : AllOps()) {
    if (op->function == UnaryFunction::kNone) continue;
    EXPECT_TRUE(functions.insert(op->function).second) << op->name;
    int numbers = 0;
    for (const AttributeDef& attribute : op->attributes) {
      numbers += attribute.kind == AttributeDef::Kind::kFloat;
    }
    EXPECT_LE(numbers, 2) << op->name << ": kernels know two numbers";
  }
}

TEST(OpTableTest, ClassesHaveTheirFacts) {
  for (const OpDef* op : AllOps()) {
    SCOPED_TRACE(op->name);
    const bool contracts = op->op_class == OpClass::kContraction;
    if (contracts) EXPECT_NE(op->contraction.products, nullptr);
    EXPECT_EQ(op->contraction.terms != nullptr, contracts);
    EXPECT_EQ(op->reduced_axes != nullptr, op->op_class == OpClass::kReduction);
    if (contracts) EXPECT_TRUE(op->numerics.own_rounding);
    if (op->op_class == OpClass::kView) EXPECT_NE(op->movement, Movement::kNone);
  }
}

// What only moves elements rounds none of them, and passes on whatever their last bits are. A Cast
// depends on its types.
TEST(OpTableTest, MovesAreExact) {
  for (const OpDef* op : AllOps()) {
    if (op->movement == Movement::kNone) continue;
    SCOPED_TRACE(op->name);
    EXPECT_TRUE(op->exact || op->op_class == OpClass::kUnary);
    EXPECT_FALSE(op->numerics.step);
    EXPECT_FALSE(op->numerics.own_rounding);
    EXPECT_EQ(op->numerics.at_infinity, AtInfinity::kOther);
  }
}

TEST(OpTableTest, RequirementsAreOfInputs) {
  for (const OpDef* op : AllOps()) {
    for (const Requirement& requirement : op->numerics.requirements) {
      EXPECT_GE(requirement.input, 0) << op->name;
      EXPECT_LT(requirement.input, op->max_inputs) << op->name;
      EXPECT_LT(requirement.data, op->min_inputs) << op->name;
    }
  }
}

// Bounds have to hold for anything, also for an input left out.
TEST(OpTableTest, BoundsOfAnythingAreKnown) {
  const model::TensorType type = model::TensorType(model::DType::kFloat32, {2, 3, 4});
  const Interval anything;
  for (const OpDef* op : AllOps()) {
    const std::vector<BoundsInput> inputs(std::max({op->min_inputs, op->max_inputs, 1}),
                                          {.values = &anything, .type = &type});
    const Interval bounds = BoundsOf(*op, {.attributes = {}, .inputs = inputs, .output = type});
    EXPECT_LE(bounds.low, bounds.high) << op->name;
  }
}

TEST(OpTableTest, DefaultsHaveTheirKind) {
  using Kind = AttributeDef::Kind;
  for (const OpDef* op : AllOps()) {
    for (const AttributeDef& attribute : op->attributes) {
      if (!attribute.default_value.has_value()) continue;
      const model::Attribute& value = *attribute.default_value;
      SCOPED_TRACE(std::string(op->name) + "." + attribute.name);
      switch (attribute.kind) {
        case Kind::kInt:
          EXPECT_TRUE(std::holds_alternative<int64_t>(value));
          break;
        case Kind::kFloat:
          EXPECT_TRUE(std::holds_alternative<double>(value));
          break;
        case Kind::kString:
          EXPECT_TRUE(std::holds_alternative<std::string>(value));
          break;
        case Kind::kInts:
          EXPECT_TRUE(std::holds_alternative<model::Ints>(value));
          break;
        case Kind::kFloats:
          EXPECT_TRUE(std::holds_alternative<model::Floats>(value));
          break;
        case Kind::kTensor:
          EXPECT_TRUE(std::holds_alternative<model::Tensor>(value));
          break;
      }
    }
  }
}

}  // namespace
}  // namespace quotient::ops
