#include "core/onnx/einsum_shape.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quotient::onnx {
namespace {

// "[2,4]", or "none".
std::string ShapeOf(absl::string_view equation, const std::vector<std::string>& operands) {
  std::vector<model::Shape> shapes;
  for (const std::string& operand : operands) {
    shapes.push_back(*model::ParseTensorType("float32" + operand)->shape);
  }
  std::vector<const model::Shape*> pointers;
  for (const model::Shape& shape : shapes) pointers.push_back(&shape);
  const auto shape = EinsumShape(equation, pointers);
  return shape.has_value() ? model::ToString(*shape) : "none";
}

TEST(EinsumShapeTest, LabelsHaveTheExtentsOfTheirAxes) {
  EXPECT_EQ(ShapeOf("bij, bjk -> bik", {"[N,2,3]", "[N,3,4]"}), "[N,2,4]");
  EXPECT_EQ(ShapeOf("ij->ji", {"[N,S]"}), "[S,N]");
  EXPECT_EQ(ShapeOf("ii->i", {"[3,3]"}), "[3]");
  EXPECT_EQ(ShapeOf("i->", {"[N]"}), "[]");
}

TEST(EinsumShapeTest, WithoutAnArrowLabelsThatComeOnceAreSorted) {
  EXPECT_EQ(ShapeOf("ij,jk", {"[2,3]", "[3,4]"}), "[2,4]");
  EXPECT_EQ(ShapeOf("ba", {"[2,3]"}), "[3,2]");
  EXPECT_EQ(ShapeOf("ii", {"[3,3]"}), "[]");
  EXPECT_EQ(ShapeOf("b...,a", {"[2,5,6]", "[3]"}), "[5,6,3,2]");
}

// ONNX Runtime puts capitals behind small letters, NumPy before them.
TEST(EinsumShapeTest, WithoutAnArrowTheOrderOfCapitalsIsNotKnown) {
  EXPECT_EQ(ShapeOf("b,B", {"[2]", "[3]"}), "none");
  EXPECT_EQ(ShapeOf("Bi,Bi", {"[2,3]", "[2,3]"}), "none");
  EXPECT_EQ(ShapeOf("b,B->Bb", {"[2]", "[3]"}), "[3,2]");
}

// What the first operand says is not the last word.
TEST(EinsumShapeTest, ExtentsBroadcast) {
  EXPECT_EQ(ShapeOf("ij,ij->ij", {"[1,3]", "[N,3]"}), "[N,3]");
  EXPECT_EQ(ShapeOf("ij,ij->ij", {"[M,3]", "[N,3]"}), "[?,3]");
  EXPECT_EQ(ShapeOf("...i,...i->...", {"[1,4,5]", "[2,1,5]"}), "[2,4]");
}

TEST(EinsumShapeTest, EquationsThatDoNotFitSayNothing) {
  EXPECT_EQ(ShapeOf("i@j->ij", {"[2,3]"}), "none");
  EXPECT_EQ(ShapeOf("i.j->ij", {"[2,3]"}), "none");
  EXPECT_EQ(ShapeOf("......i", {"[2,3]"}), "none");
  EXPECT_EQ(ShapeOf("ij->ij", {"[2,3,4]"}), "none");
  EXPECT_EQ(ShapeOf("ij->ik", {"[2,3]"}), "none");
  EXPECT_EQ(ShapeOf("ij->ii", {"[2,3]"}), "none");
  EXPECT_EQ(ShapeOf("ij,jk->ik", {"[2,3]", "[4,5]"}), "none");
  EXPECT_EQ(ShapeOf("i,j", {"[2]"}), "none");
  EXPECT_EQ(ShapeOf("i->j->k", {"[2]"}), "none");
}

}  // namespace
}  // namespace quotient::onnx
