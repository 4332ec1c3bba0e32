#include "core/extract/path_matrix.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/base/rng.h"

namespace quotient::extract {
namespace {

// Paths by looking for them again after each edge.
class NaivePaths {
 public:
  bool AddEdge(uint32_t from, uint32_t to) {
    if (from == to || has_[to][from]) return false;
    for (uint32_t a = 0; a < PathMatrix::kPlaces; ++a) {
      for (uint32_t b = 0; b < PathMatrix::kPlaces; ++b) {
        if ((a == from || has_[a][from]) && (b == to || has_[to][b])) has_[a][b] = true;
      }
    }
    return true;
  }
  bool Unite(const NaivePaths& other) {
    for (uint32_t a = 0; a < PathMatrix::kPlaces; ++a) {
      for (uint32_t b = 0; b < PathMatrix::kPlaces; ++b) {
        if (other.has_[a][b] && !AddEdge(a, b)) return false;
      }
    }
    return true;
  }
  uint64_t bits() const {
    uint64_t bits = 0;
    for (uint32_t a = 0; a < PathMatrix::kPlaces; ++a) {
      for (uint32_t b = 0; b < PathMatrix::kPlaces; ++b) {
        if (has_[a][b]) bits |= PathMatrix::From(a) & PathMatrix::To(b);
      }
    }
    return bits;
  }

 private:
  std::array<std::array<bool, PathMatrix::kPlaces>, PathMatrix::kPlaces> has_ = {};
};

TEST(PathMatrix, HasThePathsThatEdgesMake) {
  Rng rng(1);
  int cycles = 0;
  for (int round = 0; round < 3000; ++round) {
    PathMatrix paths;
    NaivePaths naive;
    for (int edge = 0; edge < 12; ++edge) {
      const auto from = static_cast<uint32_t>(rng.Below(PathMatrix::kPlaces));
      const auto to = static_cast<uint32_t>(rng.Below(PathMatrix::kPlaces));
      const bool added = paths.AddEdges(from, 1u << to);
      ASSERT_EQ(added, naive.AddEdge(from, to));
      ASSERT_EQ(paths.bits(), naive.bits());
      cycles += !added;
    }
  }
  EXPECT_GT(cycles, 1000);
}

TEST(PathMatrix, SeveralEdgesAtOnceAreAddedAllOrNone) {
  PathMatrix paths;
  ASSERT_TRUE(paths.AddEdges(1, 1u << 2));
  ASSERT_TRUE(paths.AddEdges(0, 1u << 1 | 1u << 5));
  const uint64_t before = paths.bits();
  EXPECT_EQ(before, (PathMatrix::From(1) & PathMatrix::To(2)) |
                        (PathMatrix::From(0) &
                         (PathMatrix::To(1) | PathMatrix::To(2) | PathMatrix::To(5))));
  EXPECT_FALSE(paths.AddEdges(2, 1u << 7 | 1u << 0));
  EXPECT_EQ(paths.bits(), before);
}

TEST(PathMatrix, UnitesWithWhatGoesThroughBoth) {
  Rng rng(2);
  int cycles = 0, united = 0;
  for (int round = 0; round < 3000; ++round) {
    std::array<PathMatrix, 2> paths;
    std::array<NaivePaths, 2> naive;
    for (int side = 0; side < 2; ++side) {
      for (uint64_t edge = rng.Below(6); edge > 0; --edge) {
        const auto from = static_cast<uint32_t>(rng.Below(PathMatrix::kPlaces));
        const auto to = static_cast<uint32_t>(rng.Below(PathMatrix::kPlaces));
        paths[side].AddEdges(from, 1u << to);
        naive[side].AddEdge(from, to);
      }
    }
    const bool acyclic = naive[0].Unite(naive[1]);
    ASSERT_EQ(paths[0].Unite(paths[1]), acyclic);
    if (acyclic) {
      ASSERT_EQ(paths[0].bits(), naive[0].bits());
    }
    (acyclic ? united : cycles)++;
  }
  EXPECT_GT(cycles, 300);
  EXPECT_GT(united, 300);
}

}  // namespace
}  // namespace quotient::extract
