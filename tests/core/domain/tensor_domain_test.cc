#include "core/domain/tensor_domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/egraph/egraph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::domain {
namespace {

using egraph::kInputOrigin;
using model::Dim;
using model::DType;
using model::TensorType;
using ::testing::HasSubstr;

class TensorDomainTest : public ::testing::Test {
 protected:
  ClassId Input(uint32_t index, TensorType type, TensorType measured) {
    return *graph_.Add(domain_.Input(index, {std::move(type), std::move(measured)}), {});
  }
  ClassId Input(uint32_t index, TensorType type) { return Input(index, type, type); }
  ClassId Constant(const model::Tensor& tensor) {
    return *graph_.Add(domain_.Constant(tensor), {});
  }
  absl::StatusOr<ClassId> Add(absl::string_view op, std::vector<ClassId> children,
                              model::AttributeMap attributes = {}) {
    return domain_.Add(graph_, op, std::move(attributes), children, kInputOrigin);
  }
  const ClassData& Data(ClassId id) const { return domain_.data(graph_, id); }

  TensorDomain domain_;
  EGraph graph_{&domain_, &domain_};
};

TEST_F(TensorDomainTest, InternsWordsByNameAndAttributes) {
  EXPECT_EQ(domain_.Operator("Relu"), domain_.Operator("Relu"));
  EXPECT_NE(domain_.Operator("Relu"), domain_.Operator("Tanh"));
  EXPECT_EQ(domain_.Operator("Gemm", {{"alpha", 1.0}}), domain_.Operator("Gemm"))
      << "defaults do not count";
  EXPECT_NE(domain_.Operator("Gemm", {{"alpha", 2.0}}), domain_.Operator("Gemm"));
  EXPECT_EQ(domain_.Constant(testing::Floats({2}, {1, 2})),
            domain_.Constant(testing::Floats({2}, {1, 2})));
  EXPECT_NE(domain_.Constant(testing::Floats({2}, {1, 2})),
            domain_.Constant(testing::Floats({1, 2}, {1, 2})));
  EXPECT_NE(domain_.OpaqueNode(1, "LSTM"), domain_.OpaqueNode(2, "LSTM"));
}

TEST_F(TensorDomainTest, KeepsSymbolicAndMeasuredTypesApart) {
  const ClassId x = Input(0, TensorType(DType::kFloat32, {Dim::Symbol("N"), 3}),
                          TensorType(DType::kFloat32, {8, 3}));
  ASSERT_OK_AND_ASSIGN(const ClassId y, Add("Relu", {x}));
  EXPECT_EQ(ToString(Data(y).type), "float32[N,3]");
  EXPECT_EQ(ToString(Data(y).measured), "float32[8,3]");
  // Reshape by elements known up to a symbol.
  ASSERT_OK_AND_ASSIGN(const ClassId shape, Add("Shape", {x}));
  ASSERT_OK_AND_ASSIGN(const ClassId z,
                       Add("Expand", {Constant(testing::Floats({1, 1}, {1})), shape}));
  EXPECT_EQ(ToString(Data(z).type), "float32[N,3]");
  EXPECT_EQ(ToString(Data(z).measured), "float32[8,3]");
}

TEST_F(TensorDomainTest, RefusesIllTypedNodes) {
  const ClassId x = Input(0, TensorType(DType::kFloat32, {2, 3}));
  const ClassId y = Input(1, TensorType(DType::kFloat32, {4, 5}));
  EXPECT_THAT(Add("Add", {x, y}), testing::HasReason(Reason::kModelShape));
  EXPECT_THAT(Add("MatMul", {x, y}), testing::HasReason(Reason::kModelShape));
  EXPECT_FALSE(Add("NoSuchOperator", {x}).ok());
}

TEST_F(TensorDomainTest, DequantizedWeightsAreConstantButWhatIsComputedFromThemDoesNotFold) {
  const ClassId q =
      Constant(model::Tensor::Of<int8_t>(DType::kInt8, {2}, std::vector<int8_t>{1, 2}));
  const ClassId s = Constant(testing::Floats({}, {0.5}));
  ASSERT_OK_AND_ASSIGN(const ClassId weight, Add("DequantizeLinear", {q, s}));
  ASSERT_OK_AND_ASSIGN(const ClassId scaled, Add("Mul", {weight, s}));
  ASSERT_OK_AND_ASSIGN(const ClassId steps, Add("QuantizeLinear", {s, s}));
  EXPECT_TRUE(Data(weight).runs_as_constant());
  EXPECT_FALSE(Data(weight).weight_only);
  EXPECT_FALSE(Data(scaled).runs_as_constant());
  EXPECT_TRUE(Data(steps).weight_only);
}

TEST_F(TensorDomainTest, WeightOnlyIsWhatConstantsAloneDecide) {
  const ClassId x = Input(0, TensorType(DType::kFloat32, {2}));
  const ClassId c = Constant(testing::Floats({2}, {1, 2}));
  ASSERT_OK_AND_ASSIGN(const ClassId folds, Add("Exp", {c}));
  ASSERT_OK_AND_ASSIGN(const ClassId runs, Add("Add", {x, c}));
  EXPECT_TRUE(Data(folds).weight_only);
  EXPECT_FALSE(Data(folds).constant.has_value());
  EXPECT_FALSE(Data(runs).weight_only);
}

TEST_F(TensorDomainTest, WhatTakesTooLongToFoldIsNoWeight) {
  std::vector<ClassId> factors;
  for (const int64_t columns : {2048, 2049}) {
    const std::vector<float> values(2048 * columns);
    factors.push_back(Constant(model::Tensor::Floats({2048, columns}, values)));
  }
  ASSERT_OK_AND_ASSIGN(const ClassId at_limit, Add("MatMul", {factors[0], factors[0]}));
  ASSERT_OK_AND_ASSIGN(const ClassId above, Add("MatMul", {factors[0], factors[1]}));
  ASSERT_OK_AND_ASSIGN(const ClassId behind, Add("Relu", {above}));
  EXPECT_TRUE(Data(at_limit).weight_only);
  EXPECT_FALSE(Data(above).weight_only);
  EXPECT_FALSE(Data(behind).weight_only);
  // Somebody finds a product that folds.
  ASSERT_OK(graph_.Union(above, factors[1]));
  ASSERT_OK(graph_.Rebuild());
  EXPECT_TRUE(Data(behind).weight_only);
}

TEST_F(TensorDomainTest, CommutativeOperatorsHaveTheirConstantOnTheRight) {
  const ClassId x = Input(0, TensorType(DType::kFloat32, {2}));
  const ClassId c = Constant(testing::Floats({2}, {1, 2}));
  ASSERT_OK_AND_ASSIGN(const ClassId a, Add("Add", {c, x}));
  ASSERT_OK_AND_ASSIGN(const ClassId b, Add("Add", {x, c}));
  ASSERT_OK_AND_ASSIGN(const ClassId d, Add("Sub", {c, x}));
  ASSERT_OK_AND_ASSIGN(const ClassId e, Add("Sub", {x, c}));
  EXPECT_EQ(a, b);
  EXPECT_NE(d, e);
}

TEST_F(TensorDomainTest, PutsNodesIntoCanonicalForm) {
  const ClassId x = Input(0, TensorType(DType::kFloat32, {2, 6}));
  ASSERT_OK_AND_ASSIGN(const ClassId by_input,
                       Add("Reshape", {x, Constant(testing::Ints({2}, {3, -1}))}));
  ASSERT_OK_AND_ASSIGN(const ClassId by_attribute,
                       Add("Reshape", {x}, {{"shape", model::Ints{3, 4}}}));
  EXPECT_EQ(by_input, by_attribute);
  ASSERT_OK_AND_ASSIGN(const ClassId last, Add("Softmax", {x}, {{"axis", int64_t{1}}}));
  ASSERT_OK_AND_ASSIGN(const ClassId negative, Add("Softmax", {x}, {{"axis", int64_t{-1}}}));
  EXPECT_EQ(last, negative);
}

TEST_F(TensorDomainTest, UnionOfDifferentTypesNamesBoth) {
  const ClassId x = Input(0, TensorType(DType::kFloat32, {2, 3}));
  const ClassId y = Input(1, TensorType(DType::kFloat32, {3, 2}));
  const ClassId z = Input(2, TensorType(DType::kFloat16, {2, 3}));
  const auto by_shape = graph_.Union(x, y);
  EXPECT_THAT(by_shape, testing::HasReason(Reason::kInternal, HasSubstr("float32[2,3]")));
  EXPECT_THAT(by_shape, testing::HasReason(Reason::kInternal, HasSubstr("float32[3,2]")));
  EXPECT_THAT(graph_.Union(x, z), testing::HasReason(Reason::kInternal, HasSubstr("float16")));
  EXPECT_EQ(domain_.refused_unions(), 2);
  EXPECT_EQ(ToString(Data(x).type), "float32[2,3]") << "a refused union changes nothing";
  EXPECT_FALSE(graph_.Find(x) == graph_.Find(y));
}

TEST_F(TensorDomainTest, UnionKeepsWhatEitherSideKnows) {
  const ClassId known = Input(0, TensorType(DType::kFloat32, {Dim::Symbol("N"), 3}),
                              TensorType(DType::kFloat32, {8, 3}));
  const ClassId vague = Input(1, TensorType(DType::kFloat32, {Dim(), 3}));
  const ClassId constant = Constant(model::Tensor::Floats({8, 3}, std::vector<float>(24, 0.5f)));
  ASSERT_OK(graph_.Union(known, vague));
  EXPECT_EQ(ToString(Data(vague).type), "float32[N,3]");
  ASSERT_OK(graph_.Union(vague, constant));
  EXPECT_TRUE(Data(known).weight_only);
  EXPECT_TRUE(Data(known).constant.has_value());
  ASSERT_OK(graph_.Rebuild());
}

TEST_F(TensorDomainTest, RollbackBringsBackWhatWasKnown) {
  const ClassId vague = Input(0, TensorType(DType::kFloat32, {Dim(), 3}));
  const ClassId known = Input(1, TensorType(DType::kFloat32, {8, 3}));
  ASSERT_OK_AND_ASSIGN(const ClassId above, Add("Relu", {vague}));
  ASSERT_OK(graph_.Rebuild());
  const std::string before = ToString(Data(above).type);
  graph_.Mark();
  ASSERT_OK(graph_.Union(vague, known));
  ASSERT_OK(graph_.Rebuild());
  EXPECT_EQ(ToString(Data(above).type), "float32[8,3]");
  graph_.Rollback();
  EXPECT_EQ(ToString(Data(above).type), before);
  EXPECT_NE(graph_.Find(vague), graph_.Find(known));
}

TEST_F(TensorDomainTest, OpsetLimitSparesWhatTheModelUses) {
  const ClassId x = Input(0, TensorType(DType::kFloat32, {2}));
  domain_.LimitOpset(13);
  EXPECT_TRUE(absl::IsFailedPrecondition(Add("HardSwish", {x}).status()));
  EXPECT_OK(Add("Relu", {x}));
  domain_.AllowOperator("HardSwish");
  EXPECT_OK(Add("HardSwish", {x}));
}

TEST_F(TensorDomainTest, LeftOutInputsHaveTheirPlace) {
  const ClassId x = Input(0, TensorType(DType::kFloat32, {2}));
  const ClassId bound = Input(1, TensorType(DType::kFloat32, {}));
  ASSERT_OK_AND_ASSIGN(const ClassId above, Add("Clip", {x, ClassId(), bound}));
  ASSERT_OK_AND_ASSIGN(const ClassId below, Add("Clip", {x, bound}));
  EXPECT_NE(above, below);
  ASSERT_OK(graph_.Rebuild());
  const auto children = graph_.node(graph_.nodes(above).front()).children;
  ASSERT_EQ(children.size(), 3);
  EXPECT_TRUE(Data(children[1]).absent);
}

}  // namespace
}  // namespace quotient::domain
