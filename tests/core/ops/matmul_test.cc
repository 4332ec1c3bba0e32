#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/model/shape.h"
#include "core/ops/support.h"
#include "tests/core/ops/one_node.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using model::Ints;
using model::Tensor;
using testing::AttributesOf;
using ::testing::ElementsAre;
using testing::Evaluated;
using testing::HasReason;
using ::testing::HasSubstr;
using testing::TypeOf;
using testing::ValuesOf;

TEST(MatMul, MultipliesMatrices) {
  EXPECT_THAT(ValuesOf(R"(const a: float32[2,3] = [1,2,3,4,5,6]
                          const b: float32[3,2] = [1,10,1,10,1,10]
                          y = MatMul(a, b))"),
              ElementsAre(6, 60, 15, 150));
}

TEST(MatMul, VectorsLoseTheirAxis) {
  const char* vector = "const v: float32[2] = [1,10]\n";
  const char* matrix = "const m: float32[2,2] = [1,2,3,4]\n";
  EXPECT_THAT(ValuesOf(absl::StrCat(vector, matrix, "y = MatMul(v, m)")), ElementsAre(31, 42));
  EXPECT_THAT(ValuesOf(absl::StrCat(vector, matrix, "y = MatMul(m, v)")), ElementsAre(21, 43));
  EXPECT_THAT(ValuesOf(absl::StrCat(vector, "y = MatMul(v, v)")), ElementsAre(101));
  EXPECT_EQ(TypeOf("input a: float32[K]\ninput b: float32[B,K,N]\ny = MatMul(a, b)"),
            "float32[B,N]");
  EXPECT_EQ(TypeOf("input a: float32[B,M,K]\ninput b: float32[K]\ny = MatMul(a, b)"),
            "float32[B,M]");
}

// One element at a time; a and b of rank 2 or more.
std::vector<double> NaiveMatMul(const Tensor& a, const Tensor& b, const Ints& dims) {
  std::vector<double> product;
  const auto offset = [&](const Tensor& t, const BoxIndex& index) {
    const std::vector<int64_t> strides = RowMajorStrides(t.dims());
    int64_t at = 0;
    for (int i = 0; i + 2 < t.rank(); ++i) {
      const size_t out_axis = dims.size() - t.rank() + i;
      at += t.dims()[i] == 1 ? 0 : index[out_axis] * strides[i];
    }
    return at;
  };
  const int64_t depth = a.dims().back(), width = b.dims().back();
  for (BoxIndex i(dims); i.valid(); i.Next()) {
    const int64_t row = i[dims.size() - 2], column = i[dims.size() - 1];
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      sum += a.GetDouble(offset(a, i) + row * depth + k) *
             b.GetDouble(offset(b, i) + k * width + column);
    }
    product.push_back(sum);
  }
  return product;
}

TEST(MatMul, BroadcastsBatches) {
  const std::pair<const char*, const char*> shapes[] = {
      {"[5,2,3]", "[3,4]"},       {"[2,3]", "[5,3,4]"},       {"[5,2,3]", "[5,3,4]"},
      {"[1,2,3]", "[5,3,4]"},     {"[5,2,3]", "[1,3,4]"},     {"[4,1,2,3]", "[5,3,1]"},
      {"[2,3,7,33]", "[3,33,9]"}, {"[2,1,2,3]", "[1,3,3,2]"}, {"[70,300]", "[300,17]"},
      {"[1,1,1,5]", "[2,1,5,1]"},
  };
  for (const auto& [a, b] : shapes) {
    for (const char* dtype : {"float64", "int32"}) {
      SCOPED_TRACE(absl::StrCat(dtype, a, " ", b));
      const model::Graph graph =
          testing::OneNode(absl::StrCat("const a: float64", a, " = random(1)\nconst b: float64", b,
                                        " = random(2)\n"
                                        "y = MatMul(a, b)"));
      // Small integers, so that float and integer products alike are exact.
      const auto small = [&](const Tensor& t) {
        std::vector<double> values = t.AsDoubles();
        for (double& value : values) value = static_cast<double>(static_cast<int>(value * 9));
        NewTensor rounded(model::StaticType(*model::DTypeFromName(dtype), t.dims()));
        model::Store(rounded.tensor.dtype(), rounded.bytes, 0, std::span<const double>(values));
        return rounded.tensor;
      };
      const Tensor left = small(*graph.values[0].constant);
      const Tensor right = small(*graph.values[1].constant);
      for (int threads : {1, 2, 8}) {
        ASSERT_OK_AND_ASSIGN(
            const std::vector<Tensor> y,
            EvaluateNode(graph.nodes[0], std::vector<const Tensor*>{&left, &right}, threads));
        EXPECT_EQ(y[0].AsDoubles(), NaiveMatMul(left, right, y[0].dims()));
      }
    }
  }
}

TEST(MatMul, IntegersWrap) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, Evaluated(R"(
      const a: int64[1,2] = [9007199254740993, 1]
      const b: int64[2,1] = [1, 1]
      y = MatMul(a, b))"));
  EXPECT_THAT(y.AsInts(), ElementsAre(9007199254740994));
}

TEST(MatMul, SumOverNothingIsZero) {
  EXPECT_THAT(ValuesOf(R"(const a: float32[2,0] = []
                          const b: float32[0,1] = []
                          y = MatMul(a, b))"),
              ElementsAre(0, 0));
}

TEST(MatMul, InfersTypes) {
  EXPECT_EQ(TypeOf("input a: float32[B,1,M,K]\ninput b: float32[H,K,N]\ny = MatMul(a, b)"),
            "float32[B,H,M,N]");
  EXPECT_EQ(TypeOf("input a: float32[*]\ninput b: float32[4,5]\ny = MatMul(a, b)"), "float32[*]");
}

TEST(MatMul, SaysWhatDoesNotFit) {
  EXPECT_THAT(testing::Inferred("input a: float32[2,3]\ninput b: float32[4,5]\ny = MatMul(a, b)"),
              HasReason(Reason::kModelShape, HasSubstr("3 and 4")));
  EXPECT_THAT(TypeOf("input a: float32[]\ninput b: float32[4]\ny = MatMul(a, b)"),
              HasSubstr("scalar"));
  EXPECT_THAT(TypeOf("input a: float32[2,2,3]\ninput b: float32[3,3,4]\ny = MatMul(a, b)"),
              HasSubstr("broadcast"));
  EXPECT_THAT(TypeOf("input a: float32[2,3]\ninput b: float16[3,4]\ny = MatMul(a, b)"),
              HasSubstr("float16"));
}

TEST(Gemm, TransposesScalesAndAdds) {
  const char* matrices = R"(const a: float32[2,3] = [1,2,3,4,5,6]
                            const at: float32[3,2] = [1,4,2,5,3,6]
                            const b: float32[3,2] = [1,10,1,10,1,10]
                            const bt: float32[2,3] = [1,1,1,10,10,10]
                            const c: float32[2] = [100,200]
                            )";
  for (const char* node : {"y = Gemm(a, b)", "y = Gemm(at, b) {transA=1}",
                           "y = Gemm(a, bt) {transB=1}", "y = Gemm(at, bt) {transA=1, transB=1}"}) {
    EXPECT_THAT(ValuesOf(absl::StrCat(matrices, node)), ElementsAre(6, 60, 15, 150)) << node;
  }
  EXPECT_THAT(ValuesOf(absl::StrCat(matrices, "y = Gemm(a, b, c) {alpha=2.0, beta=0.5}")),
              ElementsAre(62, 220, 80, 400));
}

TEST(Gemm, BroadcastsTheAddend) {
  const char* matrices = R"(const a: float32[2,1] = [1,2]
                            const b: float32[1,2] = [1,1]
                            )";
  EXPECT_THAT(ValuesOf(absl::StrCat(matrices, "const c: float32[] = [10]\ny = Gemm(a, b, c)")),
              ElementsAre(11, 11, 12, 12));
  EXPECT_THAT(
      ValuesOf(absl::StrCat(matrices, "const c: float32[2,1] = [10,20]\ny = Gemm(a, b, c)")),
      ElementsAre(11, 11, 22, 22));
}

TEST(Gemm, InfersTypesAndRefuses) {
  EXPECT_EQ(TypeOf("input a: float32[K,M]\ninput b: float32[N,K]\n"
                   "y = Gemm(a, b) {transA=1, transB=1}"),
            "float32[M,N]");
  EXPECT_EQ(AttributesOf("input a: float32[M,K]\ninput b: float32[K,N]\n"
                         "y = Gemm(a, b) {alpha=1.0, beta=1.0, transA=0, transB=1}"),
            "{transB=1}");
  EXPECT_THAT(TypeOf("input a: float32[2,3]\ninput b: float32[3,4]\ninput c: float32[3]\n"
                     "y = Gemm(a, b, c)"),
              HasSubstr("cannot be broadcast"));
  EXPECT_THAT(TypeOf("input a: float32[2,3]\ninput b: float32[3,4]\ninput c: float32[5,2,4]\n"
                     "y = Gemm(a, b, c)"),
              HasSubstr("cannot be broadcast"));
  EXPECT_THAT(TypeOf("input a: float32[2,3,4]\ninput b: float32[4,4]\ny = Gemm(a, b)"),
              HasSubstr("rank 3"));
  EXPECT_THAT(TypeOf("input a: float32[2,3]\ninput b: float32[4,4]\ny = Gemm(a, b)"),
              HasSubstr("3 and 4"));
}

}  // namespace
}  // namespace quotient::ops
