#include "core/ops/gemm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "core/base/rng.h"

namespace quotient::ops {
namespace {

using Rows = GemmOperand::Rows;

std::vector<double> RandomMatrix(int64_t elements, uint64_t seed) {
  Rng rng(seed);
  std::vector<double> values(elements);
  for (double& value : values) value = rng.Uniform(-1, 1);
  return values;
}

struct Factors {
  explicit Factors(const GemmSize& size)
      : left(RandomMatrix(size.batch * size.m * size.k, 1)),
        right(RandomMatrix(size.batch * size.k * size.n, 2)) {}
  std::vector<double> left, right;  // row-major
};

std::vector<double> NaiveProduct(const GemmSize& size, const Factors& factors) {
  std::vector<double> product;
  for (int64_t b = 0; b < size.batch; ++b) {
    for (int64_t i = 0; i < size.m; ++i) {
      for (int64_t j = 0; j < size.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < size.k; ++k) {
          // A variable of its own keeps the compiler from fusing.
          const volatile double term = factors.left[(b * size.m + i) * size.k + k] *
                                       factors.right[(b * size.k + k) * size.n + j];
          sum += term;
        }
        product.push_back(sum);
      }
    }
  }
  return product;
}

// Reads a batch of rows x columns matrices, by rows or by columns.
auto Reader(const std::vector<double>& matrices, int64_t rows, int64_t columns, bool by_rows) {
  return [=, &matrices](int64_t batch, int64_t row, int64_t begin, std::span<double> out) {
    for (size_t i = 0; i < out.size(); ++i) {
      const int64_t other = begin + static_cast<int64_t>(i);
      const int64_t at = by_rows ? row * columns + other : other * columns + row;
      out[i] = matrices.at(batch * rows * columns + at);
    }
  };
}

// The product as Gemm hands it over; each element must come exactly once.
std::vector<double> BlockedProduct(const GemmSize& size, const Factors& factors, Rows left_rows,
                                   Rows right_rows, int threads) {
  std::vector<double> product(size.batch * size.m * size.n, 0);
  std::vector<int> times(product.size(), 0);
  std::mutex mutex;
  const GemmOperand left{left_rows,
                         Reader(factors.left, size.m, size.k, left_rows == Rows::kOuter)};
  const GemmOperand right{right_rows,
                          Reader(factors.right, size.k, size.n, right_rows == Rows::kInner)};
  Gemm(
      size, left, right,
      [&](int64_t batch, int64_t row, int64_t column, std::span<double> values) {
        std::lock_guard<std::mutex> lock(mutex);
        for (size_t i = 0; i < values.size(); ++i) {
          const int64_t at = (batch * size.m + row) * size.n + column + static_cast<int64_t>(i);
          product.at(at) = values[i];
          ++times.at(at);
        }
      },
      threads);
  EXPECT_THAT(times, ::testing::Each(1));
  return product;
}

TEST(Gemm, IsTheNaiveProductBitForBit) {
  const GemmSize sizes[] = {
      {1, 1, 1, 1},
      {1, 5, 7, 3},
      {1, 6, 8, 256},
      {1, 7, 9, 257},
      {1, 13, 1, 300},
      {1, 1, 17, 31},
      {1, 193, 5, 11},
      {1, 3, 259, 20},
      {3, 7, 10, 4},
      {2, 200, 300, 9},
      // Tiles of few rows are wide, and their pieces of k short.
      {1, 1, 1025, 70},
      {2, 20, 2051, 131},
      {1, 49, 1023, 65},
      {1, 6, 1024, 64},
  };
  for (const GemmSize& size : sizes) {
    SCOPED_TRACE(::testing::Message()
                 << size.batch << " of " << size.m << "x" << size.n << "x" << size.k);
    const Factors factors(size);
    EXPECT_EQ(BlockedProduct(size, factors, Rows::kOuter, Rows::kInner, 1),
              NaiveProduct(size, factors));
  }
}

TEST(Gemm, ReadsEitherFactorEitherWay) {
  const GemmSize size{2, 20, 35, 270};
  const Factors factors(size);
  const std::vector<double> expected = NaiveProduct(size, factors);
  for (Rows left : {Rows::kOuter, Rows::kInner}) {
    for (Rows right : {Rows::kOuter, Rows::kInner}) {
      EXPECT_EQ(BlockedProduct(size, factors, left, right, 1), expected);
    }
  }
}

TEST(Gemm, DoesNotDependOnTheNumberOfThreads) {
  const GemmSize size{3, 210, 270, 40};
  const Factors factors(size);
  const std::vector<double> alone = BlockedProduct(size, factors, Rows::kOuter, Rows::kInner, 1);
  for (int threads : {2, 8}) {
    EXPECT_EQ(BlockedProduct(size, factors, Rows::kOuter, Rows::kInner, threads), alone);
  }
}

// A product of few rows is cut for the threads that it gets.
TEST(Gemm, FewRowsDoNotDependOnTheNumberOfThreads) {
  const GemmSize size{1, 5, 1100, 300};
  const Factors factors(size);
  const std::vector<double> expected = NaiveProduct(size, factors);
  for (int threads : {1, 2, 3, 16}) {
    EXPECT_EQ(BlockedProduct(size, factors, Rows::kOuter, Rows::kInner, threads), expected);
  }
}

TEST(Gemm, SumOverNothingIsZero) {
  const GemmSize size{1, 2, 3, 0};
  EXPECT_THAT(BlockedProduct(size, Factors(size), Rows::kOuter, Rows::kInner, 2),
              ::testing::ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(Gemm, EmptyProductsWriteNothing) {
  for (const GemmSize& size : {GemmSize{0, 2, 2, 2}, GemmSize{1, 0, 2, 2}, GemmSize{1, 2, 0, 2}}) {
    EXPECT_THAT(BlockedProduct(size, Factors(size), Rows::kOuter, Rows::kInner, 2),
                ::testing::IsEmpty());
  }
}

TEST(Gemm, PassesInfinitiesAndNaN) {
  // Padding of panels must not meet the data: 0 * inf would be NaN.
  const GemmSize size{1, 1, 1, 2};
  Factors factors(size);
  factors.left = {std::numeric_limits<double>::infinity(), 1};
  factors.right = {2, 3};
  EXPECT_THAT(BlockedProduct(size, factors, Rows::kOuter, Rows::kInner, 1),
              ::testing::ElementsAre(std::numeric_limits<double>::infinity()));
}

}  // namespace
}  // namespace quotient::ops
