#include "core/domain/slices.h"

#include <gtest/gtest.h>

#include <limits>

namespace quotient::domain {
namespace {

using model::AttributeMap;
using model::Dim;
using model::Ints;

const model::TensorType kType(model::DType::kFloat32, {Dim::Symbol("N"), 6});

AttributeMap Slice(Ints axes, Ints starts, Ints ends) {
  return {{"axes", std::move(axes)}, {"starts", std::move(starts)}, {"ends", std::move(ends)}};
}

TEST(ReadSlice, ReadsWhatSliceAttributesWrites) {
  const SliceRange range{1, 2, 5};
  EXPECT_EQ(ReadSlice(SliceAttributes(range), kType), range);
}

TEST(ReadSlice, CountsFromTheEndAndCutsOpenEnds) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(ReadSlice(Slice({-1}, {-4}, {kMax}), kType), (SliceRange{1, 2, 6}));
  EXPECT_EQ(ReadSlice(Slice({1}, {kMin}, {-1}), kType), (SliceRange{1, 0, 5}));
}

TEST(ReadSlice, RefusesOtherForms) {
  EXPECT_FALSE(ReadSlice(Slice({0}, {0}, {1}), kType)) << "a symbol is no number";
  EXPECT_FALSE(ReadSlice(Slice({0, 1}, {0, 0}, {1, 1}), kType));
  EXPECT_FALSE(ReadSlice(Slice({2}, {0}, {1}), kType));
  EXPECT_FALSE(ReadSlice(Slice({1}, {4}, {2}), kType));
  AttributeMap stepped = Slice({1}, {0}, {6});
  stepped.Set("steps", Ints{2});
  EXPECT_FALSE(ReadSlice(stepped, kType));
  EXPECT_FALSE(ReadSlice({}, kType)) << "parameters that are inputs";
}

}  // namespace
}  // namespace quotient::domain
