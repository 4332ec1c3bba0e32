#pragma once

// Rounding noise: how far a graph's own rounding moves what it computes. Each result of arithmetic
// is moved at random by a few units in the last place while the graph is evaluated once more, which
// is what another order of the same operations does to it. This is Monte Carlo arithmetic (D. S.
// Parker, "Monte Carlo Arithmetic: exploiting randomness in floating-point arithmetic", UCLA
// CSD-970002, 1997). Unlike one evaluation in float64 it also finds what flips: an ArgMax between
// scores that are equal but for rounding, a Where on a comparison of them, a Floor at a whole
// number.

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/graph.h"
#include "core/model/tensor.h"

namespace quotient::verify {

// How far noise moves a result, in units of the rounding error of its type (half a unit in the last
// place): sums in another order are off by more than one rounding.
inline constexpr double kNoise = 8;

// A hook for eval::Evaluate. One evaluation by one thread.
class RoundingNoise {
 public:
  // `graph` must outlive it.
  RoundingNoise(const model::Graph& graph, uint64_t seed)
      : graph_(graph), seed_(seed), overflowed_(graph.values.size(), false) {}

  void Visit(model::NodeId id, std::span<const model::Tensor* const> inputs,
             std::vector<model::Tensor>& outputs);

  // Whether, in a value or in what it was computed from, arithmetic made an infinity of ordinary
  // numbers, other than at a pole (1/0, log 0): the graph left the range of its types on the way.
  bool overflowed(model::ValueId id) const { return overflowed_[id.value()]; }

 private:
  void FollowOverflow(const model::Node& node, std::span<const model::Tensor* const> inputs,
                      const std::vector<model::Tensor>& outputs);

  const model::Graph& graph_;
  const uint64_t seed_;
  std::vector<bool> overflowed_;  // by value
};

// What is larger than this in magnitude stands for an infinity, as the -3e38 of masks: beside one
// as the largest value every difference would be small.
double LargestOrdinary(model::DType dtype);

// Raises `deviation`, one per element, to how far `moved` is from `original`; infinite where only
// one is finite. The types are equal.
void RaiseDeviation(const model::Tensor& original, const model::Tensor& moved,
                    std::vector<float>* deviation);

}  // namespace quotient::verify
