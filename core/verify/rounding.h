#pragma once

// Rounding noise: measures how far a graph's own rounding moves its outputs. The graph is evaluated
// again, and each result of arithmetic is changed at random by a few units in the last place, as it
// would be by another order of the same operations. This is Monte Carlo arithmetic (D. S. Parker,
// "Monte Carlo Arithmetic: exploiting randomness in floating-point arithmetic", UCLA CSD-970002,
// 1997). Unlike an evaluation in float64, it also finds results that jump: an ArgMax between scores
// that are equal up to rounding, a Where on a comparison of them, a Floor at a whole number.

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/graph.h"
#include "core/model/tensor.h"

namespace quotient::verify {

// How far noise moves a result at most, in rounding errors of its type (half a unit in the last
// place). It is more than one, because sums in another order differ by more than one rounding.
inline constexpr double kNoise = 8;

// A hook for one call of eval::Evaluate. One thread.
class RoundingNoise {
 public:
  // Borrows the graph.
  RoundingNoise(const model::Graph& graph, uint64_t seed)
      : graph_(graph), seed_(seed), overflowed_(graph.values.size(), false) {}

  void Visit(model::NodeId id, std::span<const model::Tensor* const> inputs,
             std::vector<model::Tensor>& outputs);

  // Whether the graph left the range of its types while it computed this value: whether arithmetic
  // turned ordinary numbers into an infinity somewhere, other than at a pole (1/0, log 0).
  bool overflowed(model::ValueId id) const { return overflowed_[id.value()]; }

 private:
  void FollowOverflow(const model::Node& node, std::span<const model::Tensor* const> inputs,
                      const std::vector<model::Tensor>& outputs);

  const model::Graph& graph_;
  const uint64_t seed_;
  std::vector<bool> overflowed_;  // By value.
};

// Numbers of larger magnitude represent an infinity, such as the -3e38 of masks. They must not be
// used as a scale, because every difference is small beside them.
double LargestOrdinary(model::DType dtype);

// Raises each element of `deviation` to the distance between `original` and `moved`, which is
// infinite if only one of them is finite. The types must be equal.
void RaiseDeviation(const model::Tensor& original, const model::Tensor& moved,
                    std::vector<float>* deviation);

}  // namespace quotient::verify
