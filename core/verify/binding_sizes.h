#pragma once

// The sizes that bindings try, and which dimension gets which, by its role.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/verify/binding_proposals.h"
#include "core/verify/bindings.h"

namespace quotient::verify {

// Groups of dimensions that get the same size. Parallel to the free dimensions; each group is named
// by the index of one of its members.
using Groups = std::vector<size_t>;
// The group of dimensions that are 1.
constexpr size_t kOne = static_cast<size_t>(-1);

// The k-th group of dimensions of a role gets first + k * step.
struct Progression {
  int64_t first, step;
};

// Sizes for the dimensions of one binding: first dimensions, lengths, and sides of images (in
// tensors with four or more dimensions). Without a progression, those used for measuring.
struct Sizes {
  std::optional<Progression> batch, length, side;
  // Whether a length that was the sum of two others in measuring is their sum again, as that of a
  // mask over a past and a present sequence.
  bool adds_up = false;
};

// Sizes to try, in this order: for each choice of lengths and sides one with each of the batches.
std::vector<std::vector<Sizes>> UsualSizes(BindingKind kind, bool adds_up = false);

// Only first dimensions differ from the sizes used for measuring: one for each of the batches.
std::vector<Sizes> MeasuredSizes(BindingKind kind);

// Sizes of kLong or kLargeBatch: all lengths, or all batches, are `first` or larger. The others are
// small, but sides are those used for measuring.
Sizes LargeSizes(BindingKind kind, int64_t first);

// Returns `measured` with these sizes of the free dimensions. A group with a first dimension is a
// batch, unless its tensor has only one dimension.
Shapes WithSizes(const Shapes& measured, const std::vector<FreeDim>& free, const Groups& groups,
                 const Sizes& sizes);

}  // namespace quotient::verify
