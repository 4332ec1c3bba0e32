#pragma once

// Split: the operator that Slices of one tensor along one axis are together.

#include <cstdint>
#include <span>
#include <vector>

#include "core/domain/slices.h"
#include "core/domain/tensor_egraph.h"

namespace quotient::domain {

struct Split {
  struct Part {
    SliceRange range;
    ENodeId slice;
  };
  std::vector<Part> parts;  // two at least, in order, of one axis; no two overlap
  int64_t dim = 0;          // of the axis

  int64_t axis() const { return parts.front().range.axis; }
  bool tiles() const;  // nothing is left between the parts
};

// An output of the operator: a part, or what is left between two.
struct SplitOutput {
  int64_t size;
  const Split::Part* part;  // null: what is left
};
std::vector<SplitOutput> OutputsOf(const Split& split);
model::AttributeMap AttributesOf(const Split& split);

// Whether all of it was one Split of the original.
bool IsOfOriginal(const TensorEGraph& tensors, const Split& split);

// Splits of these e-nodes, each in one at most; those that are no Slices along one axis in none.
// What came from a Split of the original stays together, else small parts come first. Of one
// tensor and axis at most kMostSplits others: where every two of n Slices overlap there would be n
// times a look at all that are left. Deterministic.
inline constexpr int kMostSplits = 64;
std::vector<Split> FindSplits(const TensorEGraph& tensors, std::span<const ENodeId> enodes);

}  // namespace quotient::domain
