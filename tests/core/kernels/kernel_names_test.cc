#include "core/kernels/kernel_names.h"

#include <gtest/gtest.h>

namespace quotient::kernels {
namespace {

std::string NameOf(const std::string& op) {
  KernelSpec spec;
  spec.op = op;
  return OperatorNames(spec, "+");
}

TEST(KernelNamesTest, OperatorsOfARuntimeAreCalledByTheirOwnNames) {
  EXPECT_EQ(NameOf("Conv"), "Conv");
  EXPECT_EQ(NameOf("ort::Conv"), "Conv");
  EXPECT_EQ(NameOf("ort:ai.onnx:Conv"), "Conv");
  EXPECT_EQ(NameOf("ort:com.microsoft:FusedConv"), "FusedConv");
  EXPECT_EQ(NameOf("ort:com.microsoft.nchwc:Conv"), "Conv (nchwc)");
  EXPECT_EQ(NameOf("ort:ai.onnx.ml:Scaler"), "Scaler (ml)");
}

TEST(KernelNamesTest, AChangeOfLayoutIsCalledByWhatItDoes) {
  EXPECT_EQ(NameOf(kReorderOp), "(change of memory layout)");
}

TEST(KernelNamesTest, FusedOperatorsFollowInOrder) {
  KernelSpec spec;
  spec.op = "MatMul";
  spec.epilogue = {{.op = "Add"}, {.op = "Relu"}};
  EXPECT_EQ(OperatorNames(spec, " + "), "MatMul + Add + Relu");
}

}  // namespace
}  // namespace quotient::kernels
