#pragma once

// Split: several Slices of one tensor along one axis, combined into one operator.

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
  std::vector<Part> parts;  // At least two, of one axis, in order, disjoint.
  int64_t dim = 0;          // Size of the axis.

  int64_t axis() const { return parts.front().range.axis; }
  bool tiles() const;  // Whether the parts cover the whole axis.
};

// An output of the Split: a part, or a gap between parts.
struct SplitOutput {
  int64_t size;
  const Split::Part* part;  // Null for a gap.
};
std::vector<SplitOutput> OutputsOf(const Split& split);
model::AttributeMap AttributesOf(const Split& split);

// Whether all parts come from one Split node of the original graph.
bool IsOfOriginal(const TensorEGraph& tensors, const Split& split);

// Combines Slices among these e-nodes into Splits, each Slice into at most one. Slices that came
// from one Split of the original stay together; the others are taken smallest first. For each
// tensor and axis there are at most kMostSplits Splits of the others, because n Slices that all
// overlap would need n passes. Deterministic.
inline constexpr int kMostSplits = 64;
std::vector<Split> FindSplits(const TensorEGraph& tensors, std::span<const ENodeId> enodes);

}  // namespace quotient::domain
