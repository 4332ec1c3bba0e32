// Terms that are refused rather than built.

#include "core/rules/terms.h"

#include <gtest/gtest.h>

#include "core/domain/tensor_egraph.h"

namespace quotient::rules {
namespace {

class TermsTest : public ::testing::Test {
 protected:
  TensorDomain domain_;
  EGraph graph_{&domain_, &domain_};
  Terms terms_{domain_, graph_, /*origin=*/1};
};

TEST_F(TermsTest, FillsAConstant) {
  const ClassId filled = terms_.Filled(model::DType::kFloat32, {2, 3}, 0.5);
  ASSERT_TRUE(filled.valid());
  const ClassData& data = terms_.data(filled);
  ASSERT_TRUE(data.constant);
  EXPECT_EQ(data.type.dims(), (std::vector<int64_t>{2, 3}));
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(data.constant->GetDouble(i), 0.5);
}

// The number of elements counts, whatever their size. Nothing is allocated for what is refused.
TEST_F(TermsTest, FillsNoMoreThanAMillionElements) {
  for (const model::DType dtype :
       {model::DType::kBool, model::DType::kFloat16, model::DType::kFloat64}) {
    EXPECT_TRUE(terms_.Filled(dtype, {1 << 10, 1 << 10}, 1).valid());
    EXPECT_FALSE(terms_.Filled(dtype, {(1 << 20) + 1}, 1).valid());
  }
  EXPECT_FALSE(terms_.Filled(model::DType::kFloat32, {1 << 30, 1 << 30, 1 << 30}, 1).valid());
  EXPECT_FALSE(terms_.Filled(model::DType::kString, {1}, 1).valid());
}

TEST_F(TermsTest, InvalidClassesArePassedOn) {
  const ClassId none;
  const ClassId one = terms_.Filled(model::DType::kFloat32, {1}, 1);
  EXPECT_FALSE(terms_.Op("Add", {one, none}).valid());
  EXPECT_FALSE(terms_.Summed(none, one).valid());
  EXPECT_FALSE(terms_.FiniteWeight(none).valid());
  EXPECT_FALSE(terms_.Transpose(none, {1, 0}).valid());
  EXPECT_FALSE(*terms_.Unite(one, none));
  EXPECT_EQ(*terms_.Result(none), std::nullopt);
}

TEST_F(TermsTest, ReturnsWhatNeedsNoChange) {
  const ClassId x = terms_.Filled(model::DType::kFloat32, {2, 3}, 1);
  EXPECT_EQ(terms_.Transpose(x, {0, 1}), x);
  EXPECT_EQ(terms_.Pad(x, {0, 0, 0, 0}), x);
  EXPECT_EQ(terms_.Slice(x, {.axis = 1, .begin = 0, .end = 3}), x);
  EXPECT_EQ(terms_.ReshapeTo(x, terms_.type(x)), x);
  EXPECT_EQ(terms_.Concat(std::vector<ClassId>{x}, 0), x);
}

}  // namespace
}  // namespace quotient::rules
