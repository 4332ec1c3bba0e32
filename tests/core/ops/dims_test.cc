// Sizes that are computed in several ways have one symbol, and it is that of no other size.

#include "core/ops/dims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using model::Dim;
using model::Shape;

Dim S(absl::string_view name) { return Dim::Symbol(name); }

TEST(DivideDimsTest, CancelsSymbolsAndDividesNumbers) {
  const Shape data = {S("N"), S("s"), 768};
  EXPECT_EQ(DivideDims(data, Shape{S("N"), 12, 64}), S("s"));
  EXPECT_EQ(DivideDims(data, Shape{S("s"), S("N")}), Dim(768));
  EXPECT_EQ(DivideDims(data, Shape{S("N"), 64}), S("?(12*s)"));
  EXPECT_EQ(DivideDims(data, Shape{S("N"), S("N")}), Dim());
  EXPECT_EQ(DivideDims(data, Shape{S("N"), S("s"), 5}), Dim());
  EXPECT_EQ(DivideDims(data, Shape{S("N"), S("s"), 0}), Dim());
  EXPECT_EQ(DivideDims(Shape{Dim(), 4}, Shape{4}), Dim());
  const int64_t large = int64_t{1} << 62;
  EXPECT_EQ(DivideDims(Shape{large, 4}, Shape{4}), Dim());
}

TEST(DimArithmeticTest, KeepsNeutralElementsAndNeverOverflows) {
  const int64_t large = int64_t{1} << 62;
  EXPECT_EQ(AddDims(S("N"), 0), S("N"));
  EXPECT_EQ(AddDims(2, 3), Dim(5));
  EXPECT_EQ(AddDims(large, large), Dim());
  EXPECT_EQ(MulDims(1, S("N")), S("N"));
  EXPECT_EQ(MulDims(S("N"), 0), Dim(0));
  EXPECT_EQ(MulDims(large, 2), Dim());
  EXPECT_EQ(SubElements(S("N"), S("N")), Element(0));
  EXPECT_EQ(SubElements(2, 5), Element(-3));
  EXPECT_EQ(SubElements(S("N"), S("M")), Element());
  EXPECT_EQ(AddElements(S("N"), -1), Element());  // It may be negative.
  EXPECT_EQ(MulElements(-1, 1), Element(-1));
}

TEST(BroadcastShapesTest, ALengthCutToASymbolGivesTheSymbol) {
  ASSERT_OK_AND_ASSIGN(const Shape shape,
                       BroadcastShapes({S("N"), S("s"), 8}, {1, MinDim(S("s"), 512), 8}));
  EXPECT_EQ(shape, (Shape{S("N"), S("s"), 8}));
  ASSERT_OK_AND_ASSIGN(const Shape other, BroadcastShapes({S("t")}, {MinDim(S("s"), 512)}));
  EXPECT_EQ(other, (Shape{Dim()}));
}

TEST(MinDimTest, IsZeroBesideZero) {
  EXPECT_EQ(MinDim(S("N"), 5), S("?min(N,5)"));
  EXPECT_EQ(MinDim(S("N"), 0), Dim(0));
}

TEST(PolynomialTest, WritesSumsOfProducts) {
  const Dim tokens = MulDims(S("sequence"), S("batch"));
  EXPECT_EQ(tokens, S("?(batch*sequence)"));
  EXPECT_EQ(MulDims(S("batch"), S("sequence")), tokens);
  EXPECT_EQ(AddDims(MulDims(tokens, 2), S("past")), S("?(past+2*batch*sequence)"));
  EXPECT_EQ(AddDims(AddDims(S("N"), 3), S("N")), S("?(2*N+3)"));
  EXPECT_EQ(DivideDims(Shape{tokens, 768}, Shape{S("batch"), 12}), S("?(64*sequence)"));
  EXPECT_EQ(SubElements(Element(AddDims(S("past"), S("now"))), S("past")), Element(S("now")));
  EXPECT_EQ(AddElements(Element(AddDims(S("N"), 1)), -1), Element(S("N")));
  EXPECT_EQ(DivElements(Element(MulDims(S("N"), 4)), 4), Element(S("N")));
  EXPECT_EQ(DivElements(S("N"), 4), Element());  // Rounds.
}

// Exporters write such names.
TEST(PolynomialTest, NamesMayLookLikePolynomials) {
  for (const char* name :
       {"batch+1", "2x", "a*b", "(n)", "-1", " 2", "floor(h/2) + 1", "?a.0", "?min(n,4)"}) {
    const Dim twice = MulDims(S(name), 2);
    EXPECT_TRUE(twice.is_symbol()) << name;
    EXPECT_EQ(AddDims(S(name), S(name)), twice);
    EXPECT_EQ(DivideDims(Shape{twice}, Shape{2}), S(name));
    EXPECT_EQ(DivideDims(Shape{MulDims(twice, S("m"))}, Shape{S("m"), 2}), S(name));
  }
  EXPECT_NE(AddDims(S("a+b"), 0), AddDims(S("a"), S("b")));
  EXPECT_NE(AddDims(S("a+b"), 1), AddDims(AddDims(S("a"), S("b")), 1));
  EXPECT_EQ(AddDims(S("a)"), 1), Dim());
}

TEST(PolynomialTest, LargeCoefficientsAreUnknown) {
  EXPECT_TRUE(MulDims(S("n"), int64_t{1} << 31).is_symbol());
  EXPECT_EQ(MulDims(S("n"), int64_t{1} << 32), Dim());
}

TEST(PolynomialTest, LongOnesAreUnknown) {
  Dim sum = 0;
  Dim product = 1;
  for (int i = 0; i < 300; ++i) {
    sum = AddDims(sum, S(absl::StrCat("n", i)));
    product = MulDims(product, S("n"));
    EXPECT_LE(sum.symbol().size(), 200);
    EXPECT_LE(product.symbol().size(), 200);
  }
  EXPECT_EQ(sum, Dim());
  EXPECT_EQ(product, Dim());
}

TEST(FloorDimTest, IsAPolynomialWhereItDivides) {
  EXPECT_EQ(FloorDim(S("h"), 0, 1), S("h"));
  EXPECT_EQ(FloorDim(S("h"), 2, 1), S("?(h+2)"));
  EXPECT_EQ(FloorDim(MulDims(S("h"), 4), 2, 2), S("?(2*h+1)"));
  EXPECT_EQ(FloorDim(S("h"), 1, 2), S("?floor((h+1)/2)"));
  EXPECT_EQ(FloorDim(S("h"), -2, 1), S("?floor((h-2)/1)"));
  EXPECT_EQ(MulDims(FloorDim(S("h"), 1, 2), 2), S("?(2*?floor((h+1)/2))"));
  EXPECT_EQ(FloorDim(MulDims(S("h"), 2), 3, 2), S("?(h+1)"));
  EXPECT_EQ(FloorDim(MulDims(S("h"), 2), -2, 2), S("?floor((?(2*h)-2)/2)"));
  EXPECT_EQ(FloorDim(Dim(), 1, 2), Dim());
}

// A Pad before a Conv, and pads of the Conv.
TEST(FloorDimTest, IsTheSameForPadsInsideAndOutside) {
  EXPECT_EQ(FloorDim(AddDims(S("h"), 2), -1, 2), FloorDim(S("h"), 1, 2));
  EXPECT_EQ(FloorDim(S("h"), 5, 3), AddDims(FloorDim(S("h"), 2, 3), 1));
}

// A size, and its numbers for some bindings of the symbols.
struct Bound {
  Dim dim;
  std::array<int64_t, 6> numbers;
};

template <typename Compute>
std::array<int64_t, 6> Map(const Bound& a, const Bound& b, const Compute& compute) {
  std::array<int64_t, 6> numbers;
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = compute(a.numbers[i], b.numbers[i]);
  return numbers;
}

Bound Combined(const Bound& a, const Bound& b, Rng& rng) {
  const int64_t stride = 1 + static_cast<int64_t>(rng.Below(3));
  const int64_t offset = static_cast<int64_t>(rng.Below(8)) - 1;  // No size is 0.
  switch (rng.Below(5)) {
    case 0:
      return {AddDims(a.dim, b.dim), Map(a, b, std::plus<>())};
    case 1:
      return {MulDims(a.dim, b.dim), Map(a, b, std::multiplies<>())};
    case 2:
      return {FloorDim(a.dim, offset, stride),
              Map(a, b, [=](int64_t x, int64_t) { return (x + offset) / stride; })};
    case 3:
      return {SubElements(AddDims(a.dim, b.dim), b.dim).AsDim(),
              Map(a, b, [](int64_t x, int64_t) { return x; })};
    default:
      return {DivideDims(Shape{a.dim, b.dim}, Shape{b.dim}),
              Map(a, b, [](int64_t x, int64_t) { return x; })};
  }
}

TEST(DimsTest, EqualSymbolsAreEqualNumbers) {
  Rng rng(1);
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Bound> sizes = {{S("a"), {}}, {S("b+1"), {}}, {S("c"), {}}};
    for (Bound& size : sizes) {
      for (int64_t& number : size.numbers) number = 1 + static_cast<int64_t>(rng.Below(997));
    }
    sizes.push_back({2, {2, 2, 2, 2, 2, 2}});
    sizes.push_back({3, {3, 3, 3, 3, 3, 3}});
    std::map<std::string, std::array<int64_t, 6>> numbers_of;
    for (int step = 0; step < 30; ++step) {
      const Bound made =
          Combined(sizes[rng.Below(sizes.size())], sizes[rng.Below(sizes.size())], rng);
      const auto [least, most] = std::ranges::minmax(made.numbers);
      if (made.dim.is_unknown() || least < 1 || most > 1'000'000'000) continue;
      if (made.dim.is_number()) {
        for (const int64_t number : made.numbers) EXPECT_EQ(made.dim.number(), number);
      } else {
        const auto [known, is_new] = numbers_of.emplace(made.dim.symbol(), made.numbers);
        EXPECT_EQ(known->second, made.numbers) << made.dim.symbol();
        compared += !is_new;
      }
      sizes.push_back(made);
    }
  }
  EXPECT_GT(compared, 500);
}

}  // namespace
}  // namespace quotient::ops
