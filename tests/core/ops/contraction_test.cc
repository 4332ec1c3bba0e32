// The facts by which costs describe contractions, against counts by hand.

#include <gtest/gtest.h>

#include "core/ops/op.h"

namespace quotient::ops {
namespace {

double MultiplyAdds(const Products& p) { return p.batch * p.m * p.n * p.k; }

double Elements(const Dims& dims) {
  double elements = 1;
  for (const int64_t dim : dims) elements *= static_cast<double>(dim);
  return elements;
}

Products ProductsOf(const char* op, const model::AttributeMap& attributes, const Dims& input,
                    const Dims& weights, const Dims& output) {
  return FindOp(op)->contraction.products(attributes, input, weights, output);
}

double TermsOf(const char* op, const model::AttributeMap& attributes, const Dims& weights) {
  return FindOp(op)->contraction.terms(attributes, weights);
}

// Each output is the sum of `terms` products.
void ExpectOneTermPerMultiplyAdd(const char* op, const model::AttributeMap& attributes,
                                 const Dims& input, const Dims& weights, const Dims& output) {
  EXPECT_EQ(MultiplyAdds(ProductsOf(op, attributes, input, weights, output)),
            Elements(output) * TermsOf(op, attributes, weights))
      << op;
}

TEST(Contraction, CountsProductsOfEachOutput) {
  ExpectOneTermPerMultiplyAdd("MatMul", {}, {3, 5}, {5, 7}, {3, 7});
  ExpectOneTermPerMultiplyAdd("MatMul", {}, {2, 3, 5}, {5, 7}, {2, 3, 7});
  ExpectOneTermPerMultiplyAdd("MatMul", {}, {2, 3, 5}, {2, 5, 7}, {2, 3, 7});
  ExpectOneTermPerMultiplyAdd("MatMul", {}, {3, 5}, {2, 5, 7}, {2, 3, 7});
  ExpectOneTermPerMultiplyAdd("MatMul", {}, {3, 5}, {5}, {3});
  ExpectOneTermPerMultiplyAdd("MatMul", {}, {5}, {5, 7}, {7});
  ExpectOneTermPerMultiplyAdd("MatMul", {}, {5}, {5}, {});
  ExpectOneTermPerMultiplyAdd("Gemm", {}, {3, 5}, {5, 7}, {3, 7});
  ExpectOneTermPerMultiplyAdd("Gemm", {{"transA", int64_t{1}}, {"transB", int64_t{1}}}, {5, 3},
                              {7, 5}, {3, 7});
  ExpectOneTermPerMultiplyAdd("Conv", {}, {2, 6, 8, 8}, {4, 6, 3, 3}, {2, 4, 6, 6});
  ExpectOneTermPerMultiplyAdd("Conv", {{"group", int64_t{3}}}, {2, 6, 8, 8}, {9, 2, 3, 3},
                              {2, 9, 6, 6});
}

// Each input is multiplied by all weights of its channel. A single input pixel with one group has
// one term per output and input channel.
TEST(Contraction, CountsWhatEachInputOfATransposedConvContributesTo) {
  const Dims input = {2, 6, 5, 5}, weights = {6, 4, 3, 3}, output = {2, 4, 7, 7};
  EXPECT_EQ(MultiplyAdds(ProductsOf("ConvTranspose", {}, input, weights, output)),
            Elements(input) * 4 * 3 * 3);
  EXPECT_EQ(MultiplyAdds(
                ProductsOf("ConvTranspose", {{"group", int64_t{2}}}, input, weights, {2, 8, 7, 7})),
            Elements(input) * 4 * 3 * 3);
  EXPECT_EQ(TermsOf("ConvTranspose", {}, weights), 6 * 3 * 3);
}

TEST(Contraction, BatchesShareOneMatrixOfWeights) {
  const Products shared = ProductsOf("MatMul", {}, {2, 3, 5}, {5, 7}, {2, 3, 7});
  EXPECT_EQ(shared.batch, 1);
  EXPECT_EQ(shared.m, 6);
  const Products separate = ProductsOf("MatMul", {}, {2, 3, 5}, {2, 5, 7}, {2, 3, 7});
  EXPECT_EQ(separate.batch, 2);
  EXPECT_EQ(separate.m, 3);
}

TEST(Contraction, NothingIsMultipliedForAnEmptyOutput) {
  EXPECT_EQ(MultiplyAdds(ProductsOf("MatMul", {}, {3, 5}, {5, 0}, {3, 0})), 0);
  EXPECT_EQ(MultiplyAdds(ProductsOf("MatMul", {}, {2, 0, 5}, {2, 5, 7}, {2, 0, 7})), 0);
  EXPECT_EQ(MultiplyAdds(ProductsOf("Gemm", {}, {0, 5}, {5, 7}, {0, 7})), 0);
  EXPECT_EQ(MultiplyAdds(ProductsOf("Conv", {}, {0, 6, 8, 8}, {4, 6, 3, 3}, {0, 4, 6, 6})), 0);
}

}  // namespace
}  // namespace quotient::ops
