#pragma once

// PathMatrix: which of eight places are reached from which along chosen e-nodes. The relation is
// kept transitively closed, in the bits of one word, so that adding e-nodes or uniting relations
// takes a few instructions. Bit 8 * a + b is set if a leads to b.

#include <bit>
#include <cstdint>

namespace quotient::extract {

class PathMatrix {
 public:
  static constexpr uint32_t kPlaces = 8;

  // Masks of the paths from and to a place.
  static constexpr uint64_t From(uint32_t place) { return uint64_t{0xff} << (kPlaces * place); }
  static constexpr uint64_t To(uint32_t place) { return kFirstColumn << place; }

  constexpr PathMatrix() = default;
  constexpr explicit PathMatrix(uint64_t bits) : bits_(bits) {}
  constexpr uint64_t bits() const { return bits_; }

  // Adds edges from a place to others, given as a mask, and the paths they create. False if that
  // would close a cycle; the matrix is then unchanged.
  bool AddEdges(uint32_t from, uint32_t to) {
    uint64_t reached = to;
    for (uint32_t left = to; left != 0; left &= left - 1) {
      reached |= Row(static_cast<uint32_t>(std::countr_zero(left)));
    }
    if ((reached >> from & 1) != 0) return false;
    const uint64_t sources = Column(from) | uint64_t{1} << (kPlaces * from);
    bits_ |= sources * reached;  // Adds the row to each source.
    return true;
  }

  // Adds all paths of the other matrix. False if that closes a cycle.
  bool Unite(PathMatrix other) {
    const bool one_is_empty = bits_ == 0 || other.bits_ == 0;
    bits_ |= other.bits_;
    if (one_is_empty) return true;
    for (uint32_t via = 0; via < kPlaces; ++via) bits_ |= Column(via) * Row(via);
    return (bits_ & kDiagonal) == 0;
  }

 private:
  static constexpr uint64_t kFirstColumn = 0x0101010101010101;
  static constexpr uint64_t kDiagonal = 0x8040201008040201;

  uint64_t Row(uint32_t place) const { return bits_ >> (kPlaces * place) & 0xff; }
  // The column, with its bits in the lowest bit of each row.
  uint64_t Column(uint32_t place) const { return bits_ >> place & kFirstColumn; }

  uint64_t bits_ = 0;
};

}  // namespace quotient::extract
